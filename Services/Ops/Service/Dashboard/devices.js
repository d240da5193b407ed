// The list of devices, by name, in pages.

import { get, path } from './api.js'
import { $, h, keyed, say, show } from './dom.js'
import { states, system, word } from './words.js'

const limit = 20

export class Devices {
  constructor(failed) {
    this.failed = failed
    this.cursor = undefined
    $('search').addEventListener('submit', event => event.preventDefault())
    $('prefix').addEventListener('input', () => {
      clearTimeout(this.typing)
      this.typing = setTimeout(() => this.turnTo(undefined), 200)
    })
    $('first-page').addEventListener('click', () => this.turnTo(undefined))
    $('next-page').addEventListener('click', () => this.turnTo(this.next))
  }

  turnTo(cursor) {
    this.cursor = cursor
    return this.refresh().catch(error => this.failed(error))
  }

  async refresh(signal) {
    const prefix = $('prefix').value.trim()
    const isName = /^[A-Za-z0-9._:-]*$/.test(prefix)
    say($('prefix-fault'), isName ? '' : 'Names contain only letters, digits and . _ : -')
    if (!isName) return
    const { cursor } = this
    const page = await get(path('v1/devices', { prefix, limit, cursor }), signal)
    // The user has requested another page since.
    if (cursor !== this.cursor || prefix !== $('prefix').value.trim()) return
    this.next = page.next
    keyed($('device-list'), page.items, item => item.device, item => row(item), write)
    show($('device-empty'), page.items.length === 0)
    say($('device-empty'), prefix ? `No device name begins with “${prefix}”.` : cursor ? 'No more devices.'
      : 'No device is registered. Register one with PUT /v1/devices/NAME at lifecycle, or start the fleet.')
    show($('device-pages'), cursor !== undefined || page.next !== null)
    $('first-page').disabled = cursor === undefined
    $('next-page').disabled = page.next === null
  }
}

function row(item) {
  return h('li', {},
    h('a', { href: `#/devices/${encodeURIComponent(item.device)}` }, item.device),
    h('span', { class: 'muted facts-line' }), h('span', { class: 'apps' }))
}

function write(element, item) {
  const [, facts, apps] = element.children
  say(facts, [system(item.profile), item.fleet, item.powered ? '' : 'off'].filter(Boolean).join(' · '))
  const counts = states.map(state => ({ state, count: item.apps.filter(app => app.state === state).length }))
  keyed(apps, counts.filter(each => each.count > 0), each => each.state,
    each => h('span', { class: 'state' }, h('span', { class: `dot is-${each.state}`, 'aria-hidden': 'true' }), h('span')),
    (span, each) => say(span.lastElementChild, `${each.count} ${word(each.state)}`))
}
