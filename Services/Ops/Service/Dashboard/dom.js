// Functions for the elements of the page. No function accepts markup. Styles are set by script, because the policy forbids attributes.

export const $ = id => document.getElementById(id)

/** Returns an element with properties (`dataset`, `class`, listeners as `onclick`, attributes) and children. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue
    if (name === 'class') element.className = value
    else if (name === 'dataset') Object.assign(element.dataset, value)
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.flat().filter(child => child !== undefined && child !== null && child !== false))
  return element
}

/** Returns an SVG element with attributes. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

/** Sets a text if it differs, so that an unchanged text causes no announcement and no layout. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text
}

export function show(element, isShown) {
  if (element.hidden !== !isShown) element.hidden = !isShown
}

/**
 *
 ** Makes the children of a list match `items`, and reuses elements by key, so focus and selection survive.
 */
export function keyed(list, items, key, make, update) {
  const old = new Map([...list.children].map(element => [element.dataset.key, element]))
  let next = list.firstElementChild
  for (const item of items) {
    const name = String(key(item))
    let element = old.get(name)
    if (element) old.delete(name)
    else {
      element = make(item)
      element.dataset.key = name
    }
    update?.(element, item)
    if (element === next) next = next.nextElementSibling
    else list.insertBefore(element, next)
  }
  for (const element of old.values()) element.remove()
}

/** Fills a list with labels, numbers and bars. `items` are `{key, label, note, count, href}`. */
export function bars(list, items, nothing) {
  const greatest = Math.max(1, ...items.map(item => item.count))
  const rows = items.length > 0 ? items : [{ key: '', nothing }]
  keyed(list, rows, row => row.key, row => row.nothing
    ? h('li', { class: 'empty' }, row.nothing)
    : h('li', {}, h('a', { class: 'label' }), h('span', { class: 'count' }), h('span', { class: 'track', 'aria-hidden': 'true' }, h('span'))),
  (element, row) => {
    if (row.nothing) return
    const [label, count, track] = element.children
    if (label.dataset.text !== row.label + (row.note ?? '')) {
      label.dataset.text = row.label + (row.note ?? '')
      label.replaceChildren(row.label, ...(row.note ? [' ', h('code', {}, row.note)] : []))
    }
    label.setAttribute('href', row.href)
    say(count, row.count.toLocaleString('en'))
    track.firstElementChild.style.setProperty('--share', row.count / greatest)
  })
}

/** Fills one bar with proportional parts: `{key, count, kind}`. */
export function share(element, parts) {
  const whole = parts.reduce((sum, part) => sum + part.count, 0)
  keyed(element, parts.filter(part => part.count > 0), part => part.key, () => h('span'), (span, part) => {
    span.className = part.kind
    span.style.setProperty('--share', part.count / whole)
  })
}
