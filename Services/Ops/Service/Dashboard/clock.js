// The suite clock in the header, and its controls where time is virtual.

import { credentials, get, idempotencyKey, send } from './api.js'
import { toDevice } from './address.js'
import { $, h, say, show } from './dom.js'
import { plural } from './words.js'

const storageKey = 'dormouse.advances'
const mostMarks = 50

export class SuiteClock {
  constructor() {
    this.reading = undefined
    /** The suite times at which the clock jumped, as far as this tab has seen them. */
    this.jumps = JSON.parse(sessionStorage.getItem(storageKey) ?? '[]')
    $('clock-freeze').addEventListener('click', () => this.set({ frozen: !this.reading.frozen }))
    $('clock-rate-form').addEventListener('submit', event => {
      event.preventDefault()
      this.set({ rate: Number($('clock-rate').value) })
    })
    $('clock-advance-form').addEventListener('submit', event => {
      event.preventDefault()
      this.advance({ seconds: Number($('clock-amount').value) * Number($('clock-unit').value) })
    })
    $('clock-step').addEventListener('click', () => this.advance({ seconds: 86_400, steps: 1 }))
    setInterval(() => { if (!document.hidden) this.write() }, 500)
  }

  async refresh(signal) { this.take(await get('v1/clock', signal)) }

  /** Returns the suite time in milliseconds. */
  get now() {
    if (!this.reading) return Date.now()
    const { frozen, virtual, rate, at, now } = this.reading
    const passed = frozen ? 0 : (performance.now() - at) * (virtual ? rate : 1)
    return Date.parse(now) + passed
  }

  get speed() { return Number(this.reading.rate.toFixed(3)) }

  take(reading) {
    const now = Date.parse(reading.now)
    // More than the rate explains, and more than a slow answer.
    if (this.reading?.virtual && now - this.now > 5000 * Math.max(1, this.reading.rate)) this.note(this.now, now)
    const isOtherRate = reading.rate !== this.reading?.rate
    this.reading = { ...reading, at: performance.now() }
    // What somebody types stays until the rate changes.
    if (isOtherRate) $('clock-rate').value = this.speed
    this.write()
  }

  note(from, until) {
    this.jumps = [...this.jumps, { from, until }].slice(-mostMarks)
    sessionStorage.setItem(storageKey, JSON.stringify(this.jumps))
  }

  write() {
    if (!this.reading || $('clock').dataset.state === 'locked') return
    const { frozen, virtual } = this.reading
    const now = new Date(this.now).toISOString()
    show($('clock'), true)
    $('clock-now').dateTime = now
    say($('clock-now'), `${now.slice(0, 10)} ${now.slice(11, 19)}`)
    say($('clock-mode'), !virtual ? 'real time' : frozen ? 'virtual, frozen' : `virtual, ${this.speed}×`)
    $('clock-mode').dataset.state = frozen ? 'paused' : 'live'
    show($('clock-controls'), virtual && credentials.mayOperate)
    say($('clock-freeze'), frozen ? 'Resume' : 'Freeze')
  }

  async set(change) {
    await this.operate('', async () => {
      this.take(await send('PUT', 'v1/clock', change))
      return ''
    })
  }

  async advance(change) {
    // A repeat after a lost connection continues to the same target time.
    const idempotency = idempotencyKey()
    await this.operate('Advancing. The clock stops at each deadline, and waits for connected devices …', async () => {
      const answer = await send('POST', 'v1/clock/advance', change, { idempotency, patience: 900_000 })
      await this.refresh()
      return this.told(answer)
    })
  }

  told({ now, unanswered }) {
    const words = `The suite has settled at ${now.slice(0, 10)} ${now.slice(11, 19)}.`
    if (unanswered.length === 0) return [words]
    return [`${words} ${plural(unanswered.length, 'device', 'devices')} did not answer in time: `,
      ...unanswered.flatMap((name, index) => [index > 0 ? ', ' : '', h('a', { href: toDevice(name) }, name)])]
  }

  async operate(words, work) {
    const buttons = document.querySelectorAll('#clock-controls button')
    for (const button of buttons) button.disabled = true
    say($('clock-fault'), '')
    say($('clock-state'), words)
    try {
      $('clock-state').replaceChildren(...await work())
    } catch (error) {
      say($('clock-state'), '')
      say($('clock-fault'), error.status === 403 ? 'This key lacks the scope operate.'
        : error.status === 0 ? 'ops does not answer. Try again.' : error.message)
    } finally { for (const button of buttons) button.disabled = false }
  }
}
