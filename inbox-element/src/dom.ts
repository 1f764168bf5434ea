type Attribute = string | boolean | number | undefined | ((event: Event) => void)

/**
 * Creates an element. Attributes whose name starts with `on` are listeners. `class` and `part` are equal if only `part`
 * is given. Never parses markup, so that texts of messages have no effect and Trusted Types can be required.
 */
export function create<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  const { part } = attributes
  if (typeof part === 'string') element.className = part
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else setAttribute(element, name, value)
  }
  element.append(...children)
  return element
}

/** Sets an attribute if it differs. False and undefined remove it. */
export function setAttribute(element: Element, name: string, value: string | boolean | number | undefined): void {
  const text = value === true ? '' : String(value)
  if (value === undefined || value === false) element.removeAttribute(name)
  else if (element.getAttribute(name) !== text) element.setAttribute(name, text)
}

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** Paths of the icons, in a box of 24 by 24. */
const icons = {
  bell: 'M6 9a6 6 0 1 1 12 0c0 5 2 6 2 8H4c0-2 2-3 2-8m4 11a2 2 0 0 0 4 0',
  check: 'm5 12 5 5L20 7',
  dot: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8',
  close: 'M6 6l12 12M18 6 6 18',
  trash: 'M4 7h16M10 4h4M6 7l1 13h10l1-13M10 11v6M14 11v6',
  sliders: 'M4 7h9m4 0h3M4 17h3m4 0h9M15 4v6M9 14v6',
} as const

export type Icon = keyof typeof icons

const svg = 'http://www.w3.org/2000/svg'

/** Creates an icon that assistive technology ignores. */
export function createIcon(name: Icon): SVGElement {
  const icon = document.createElementNS(svg, 'svg')
  const path = document.createElementNS(svg, 'path')
  path.setAttribute('d', icons[name])
  for (const [key, value] of [
    ['viewBox', '0 0 24 24'],
    ['aria-hidden', 'true'],
    ['class', 'icon'],
  ] as const)
    icon.setAttribute(key, value)
  icon.append(path)
  return icon
}

export const createButton = (part: string, icon: Icon, onclick: (event: Event) => void): HTMLButtonElement =>
  create('button', { type: 'button', part, class: `${part} plain`, onclick }, createIcon(icon))
