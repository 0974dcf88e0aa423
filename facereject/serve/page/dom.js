// Elements of the page: found, made, filled; the same on every page.

export const element = (id) => document.getElementById(id);

/** A new element with properties and children. */
export function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** Show a text in which backticks mark code. */
export function showText(node, text) {
  if (node.dataset.text === text) return;
  node.dataset.text = text;
  node.replaceChildren(...text.split("`").map((part, k) => (k % 2 ? make("code", {}, part) : part)));
}

/** Show names and values in a list of them. */
export function showFacts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value]) => ["dt", "dd"].map((tag, k) => {
    const node = make(tag);
    showText(node, k ? value : name);
    return node;
  })));
}

/** Say what is wrong at the top of the page; nothing is wrong if it is empty. */
export function tell(text) {
  showText(element("trouble"), text);
  element("trouble").hidden = !text;
}

/** What to do on clicks, by the id of the button. */
export function onClick(actions) {
  for (const [id, action] of Object.entries(actions)) element(id).addEventListener("click", () => action());
}

// the address bar need not show the token: the cookie has it
if (location.search.includes("token=")) history.replaceState(null, "", location.pathname);
