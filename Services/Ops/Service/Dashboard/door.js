// The form for the operator key, and the messages about failures.

import { credentials, Failure, get } from './api.js'
import { $, say, show } from './dom.js'
import { timeOfDay } from './words.js'

export class Door {
  /** `opened` is called with a new key, `closed` when a key is needed. */
  constructor(opened, closed) {
    this.closed = closed
    this.isOpen = false
    $('key-form').addEventListener('submit', event => {
      event.preventDefault()
      credentials.keep($('key').value.trim())
      $('key').value = ''
      say($('key-fault'), '')
      this.isOpen = false
      opened()
    })
    $('forget').addEventListener('click', () => {
      credentials.forget()
      this.ask()
    })
  }

  ask(words = '') {
    this.isOpen = true
    this.closed()
    for (const id of ['clock', 'clock-controls', 'fleets', 'forget', 'health', 'trouble']) show($(id), false)
    show($('door'), true)
    say($('key-fault'), words)
    $('key').focus()
  }

  /** Asks for another key after a refused request. Several requests can fail at once; the first failure reports it. */
  refuse(error) {
    if (this.isOpen && !credentials.isHeld) return
    const words = error.status === 403 ? 'This key lacks the scope read.'
      : credentials.isHeld ? 'ops does not know this key.' : ''
    credentials.forget()
    this.ask(words)
  }
}

/** Returns what a failure means; nothing if it is none of a request. `clock` is the suite clock, if the page shows data. */
export function troubleOf(error, clock) {
  if (!(error instanceof Failure)) return undefined
  const since = clock?.reading ? ` The page shows data of ${timeOfDay(clock.reading.now)} suite time.` : ''
  if (error.status === 0) return `ops does not answer; retrying.${since}`
  if (error.status === 429) return 'This key makes too many requests; retrying more slowly.'
  if (error.code === 'database_unavailable') return `ops cannot reach its database; retrying.${since}`
  return `ops answered ${error.status}: ${error.message}; retrying.${since}`
}

/** Shows the faults that `ops` reports about itself and its database. It works without a key and without the database. */
export async function refreshHealth(signal) {
  const faults = await get('readyz', signal).then(health => health.errors ?? [], error => {
    if (error.status !== 503) throw error
    return error.faults
  })
  const database = faults.find(fault => fault.pointer === '/database')
  const rest = faults.filter(fault => fault !== database).map(fault => fault.detail)
  say($('health'), database
    ? `The database fails: ${database.detail}. The services refuse requests that need it, and the numbers below are old.`
    : `ops reports faults: ${rest.join('; ')}.`)
  show($('health'), faults.length > 0)
}
