// The page of devices: by name, fleet, profile, state of their apps, power and conditions.

import { get, path } from './api.js'
import { changed, toDevice } from './address.js'
import { $, h, keyed, say, show } from './dom.js'
import { Filters } from './filters.js'
import { plural, profiles, states, system, word } from './words.js'

const limit = 50

export class Devices {
  constructor() {
    this.filters = new Filters($('search'), [
      { name: 'prefix', label: 'Name begins with', hint: 'all names' },
      { name: 'profile', label: 'System', options: [['', 'all'], ...profiles.map(name => [name, system(name)])] },
      { name: 'state', label: 'App state', options: [['', 'all'], ...states.map(name => [name, word(name)])] },
      { name: 'power', label: 'Power', options: [['', 'all'], ['on', 'on'], ['off', 'turned off']] },
      { name: 'locked', label: 'Lock', options: [['', 'all'], ['true', 'locked'], ['false', 'unlocked']] },
      { name: 'lowPowerMode', label: 'Low Power Mode', options: [['', 'all'], ['true', 'on'], ['false', 'off']] },
      { name: 'charging', label: 'Battery', options: [['', 'all'], ['true', 'charging'], ['false', 'not charging']] },
      { name: 'batteryBelow', label: 'Battery below %', kind: 'number', hint: 'any' },
    ])
  }

  open({ query }) {
    this.query = { ...this.filters.read(), fleet: query.fleet, cursor: query.cursor }
    keyed($('device-list'), [], item => item.device)
    for (const id of ['device-empty', 'device-pages']) show($(id), false)
    say($('device-lead'), 'Reading …')
  }

  close() {}

  async refresh(signal) {
    const { query } = this
    const page = await get(path('v1/devices', { ...query, limit }), signal).catch(error => {
      if (error.status !== 400) throw error
      this.filters.refuse(error)
    })
    if (!page || query !== this.query) return
    keyed($('device-list'), page.items, item => item.device, item => row(item), (element, item) => write(element, item, query.state))
    show($('device-empty'), page.items.length === 0)
    say($('device-empty'), this.nothing())
    say($('device-lead'), page.items.length > 0
      ? `${plural(page.items.length, 'device', 'devices')}${page.next || query.cursor ? ' on this page' : ''}, by name` : '')
    this.turnPages(page.next)
  }

  nothing() {
    if (this.query.cursor) return 'No more devices.'
    if (Object.values(this.query).some(Boolean)) return 'No device matches.'
    return 'No device is registered. Register one with PUT /v1/devices/NAME at lifecycle, or start the fleet.'
  }

  turnPages(next) {
    show($('device-pages'), Boolean(next || this.query.cursor))
    show($('first-page'), Boolean(this.query.cursor))
    show($('next-page'), Boolean(next))
    $('first-page').setAttribute('href', changed({ cursor: '' }))
    if (next) $('next-page').setAttribute('href', changed({ cursor: next }))
  }
}

function row(item) {
  return h('li', {},
    h('a', { href: toDevice(item.device) }, item.device),
    h('span', { class: 'muted facts-line' }), h('ul', { class: 'apps', 'aria-label': 'Apps' }))
}

function battery({ batteryLevel, charging }) {
  if (typeof batteryLevel !== 'number') return ''
  // A sum of doubles may be a little too small.
  return `battery ${Math.floor(100 * batteryLevel + 1e-9)}\u00a0%${charging ? ', charging' : ''}`
}

function write(element, item, state) {
  const [, facts, apps] = element.children
  say(facts, [system(item.profile), item.fleet, item.powered ? '' : 'turned off', item.locked ? 'locked' : '',
    item.lowPowerMode ? 'Low Power Mode' : '', battery(item)].filter(Boolean).join(' · '))
  // With a filter by state, each shown app has this state.
  const shown = item.apps.filter(app => !state || app.state === state)
  keyed(apps, shown, app => app.app,
    app => h('li', { class: 'state' }, h('span', { 'aria-hidden': 'true' }), h('span', {}, app.app), h('span', { class: 'muted' })),
    (chip, app) => {
      chip.firstElementChild.className = `dot is-${app.state}`
      say(chip.lastElementChild, word(app.state))
    })
}
