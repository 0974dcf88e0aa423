"""The local web page and its JSON API: the webcam filter in a browser, images and videos over HTTP.

Needs the extra ``facereject[serve]``. `make_app` gives the ASGI application, `run_server` serves it.
"""
