// The progress of transfers: active ones first, then recent ones.

import { $, h, keyed, say, show } from './dom.js'
import { get, path } from './api.js'
import { bytes, subjectOf, transferError } from './words.js'

/** The changes that each event type makes to a task. */
const turns = {
  'transfer.attempt.started': () => ({ state: 'connecting' }),
  'transfer.progress.made': data => ({ state: 'receiving', moved: data.totalBytesWritten, expected: data.totalBytesExpectedToWrite }),
  'transfer.body.sent': data => ({ state: 'sending', moved: data.totalBytesSent, expected: data.totalBytesExpectedToSend }),
  'transfer.attempt.ended': (_, task) => isUnderWay(task) ? { state: 'waiting' } : {},
  'transfer.task.held': () => ({ state: 'waiting' }),
  'transfer.task.completed': (data, task) => ({
    state: data.error ? 'failed' : 'completed', error: data.error, moved: data.bytesSent ?? data.bytesReceived ?? task.moved,
  }),
}
const most = 6

export class Transfers {
  constructor() {
    /** Tasks by device, app, session and number; the most recently updated is last. */
    this.tasks = new Map()
    this.isChanged = false
    setInterval(() => this.write(), 500)
  }

  /** Requests the recent events of transfers. The stream delivers new ones. */
  async fill(signal) {
    const page = await get(path('v1/events', { type: Object.keys(turns).join(','), limit: 60 }), signal)
    for (const event of page.items.reverse()) this.hear(event)
  }

  hear({ type, subject, data }) {
    const turn = turns[type]
    if (!turn) return
    const { device, app } = subjectOf({ subject })
    const key = `${subject} ${data.session} ${data.task}`
    const before = this.tasks.get(key) ?? { key, device, app, session: data.session, number: data.task, moved: 0 }
    const task = { ...before, ...turn(data, before) }
    this.tasks.delete(key)
    this.tasks.set(key, task)
    if (this.tasks.size > 10 * most) this.tasks.delete(this.tasks.keys().next().value)
    this.isChanged = true
  }

  write() {
    if (!this.isChanged || document.hidden) return
    this.isChanged = false
    const recent = [...this.tasks.values()].reverse()
    const shown = [...recent.filter(moves), ...recent.filter(task => !moves(task))].slice(0, most)
    keyed($('tasks'), shown, task => task.key, row, update)
    show($('tasks'), shown.length > 0)
  }
}

const moves = ({ state }) => ['connecting', 'receiving', 'sending'].includes(state)
const isUnderWay = ({ state }) => state !== 'completed' && state !== 'failed'

function row(task) {
  return h('li', {},
    h('p', {}, h('a', { href: `#/devices/${encodeURIComponent(task.device)}` }, task.device), ` ${task.app} `,
      h('span', { class: 'muted' }, `${task.session}, task ${task.number}`)),
    h('span', { class: 'muted' }),
    h('progress', { 'aria-label': `Task ${task.number} of ${task.device} ${task.app}` }))
}

function update(element, task) {
  const [, words, bar] = element.children
  element.dataset.state = task.state
  say(words, [task.state === 'failed' ? `failed: ${transferError(task.error.code)}` : task.state, amount(task)].filter(Boolean).join(' · '))
  if (!isUnderWay(task)) bar.value = 1
  else if (task.expected > 0) bar.value = Math.min(1, task.moved / task.expected)
  else bar.removeAttribute('value')
}

function amount({ state, moved, expected }) {
  if (state === 'failed' || moved === 0) return ''
  return state !== 'completed' && expected > 0 ? `${bytes(moved)} of ${bytes(expected)}` : bytes(moved)
}
