"""The camera filter: camera, loop, window, overlay."""
