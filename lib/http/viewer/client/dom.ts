/** Building the page. Attributes are ours alone; what others wrote comes in as text. */
type Child = Node | string | null;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | null>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** The second click of a double click was meant for what stood there at the first. */
export function button(label: string, kind: string, press: (event: MouseEvent) => void): HTMLButtonElement {
  const element = h("button", { type: "button", class: kind }, label);
  element.addEventListener("click", (event) => event.detail > 1 ? undefined : press(event));
  return element;
}

/** An element that the server rendered. */
export function part<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`Cannot find the part "${id}" of the page`);
  return element as T;
}

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes the children be these, moving only what is not in its place. */
export function setChildren(parent: Element, children: readonly Node[]): void {
  const wanted = new Set(children);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  children.forEach((child, index) => {
    const present = parent.childNodes[index];
    if (present !== child) parent.insertBefore(child, present ?? null);
  });
}

/** Runs it at the next frame, once, however often it is asked for. */
export function onFrame(draw: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    // A tab that is not in sight gets no frames; it need not draw either.
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}
