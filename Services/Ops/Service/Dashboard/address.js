// The address of the page: `#/part/name?filter=value`. It has the open view, its filters, the fleet and the open "why?".

import { path } from './api.js'

/** The parameters that hold over all views. */
const held = ['fleet']

/** Returns the parts of the path and the query of an address. */
export function parse(hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?')
  const names = path.split('/').map(part => { try { return decodeURIComponent(part) } catch { return '' } })
  return { part: names[0] || 'overview', name: names[1], query: Object.fromEntries(new URLSearchParams(query)) }
}

export const here = () => parse(location.hash)

/** Returns an address. Empty parameters are left out. */
export const to = (part, query = {}) => `#/${path(part, query)}`

export const toDevice = name => to(`devices/${encodeURIComponent(name)}`)

/** Returns the address of this view with other parameters. An empty value removes a parameter. */
export function changed(query) {
  return to(location.hash.replace(/^#\/?/, '').split('?')[0], { ...here().query, ...query })
}

/** Changes parameters of this view, as a new entry of the history or instead of the current one. */
export function change(query, { isNew = true } = {}) {
  const address = changed(query)
  if (address === location.hash) return
  if (isNew) location.hash = address
  else {
    history.replaceState(history.state, '', address)
    dispatchEvent(new HashChangeEvent('hashchange'))
  }
}

/** Returns an address with the parameters that hold over all views. */
function keeping(hash) {
  const { query } = here()
  const [part, own = ''] = hash.split('?')
  const kept = Object.fromEntries(held.map(name => [name, query[name]]))
  return path(part, { ...Object.fromEntries(new URLSearchParams(own)), ...kept })
}

// A link gets the held parameters when it is about to be used, so that a link from before a change is right.
for (const type of ['pointerover', 'focusin', 'click']) {
  addEventListener(type, event => {
    const link = event.target.closest?.('a[href^="#/"]')
    const hash = link && keeping(link.getAttribute('href'))
    if (hash && hash !== link.getAttribute('href')) link.setAttribute('href', hash)
  }, true)
}
