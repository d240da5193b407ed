// The report of a time range, as a page in a frame without scripts.

import { path, text } from './api.js'
import { change, changed, here } from './address.js'
import { $, say, show } from './dom.js'
import { faults } from './filters.js'
import { save } from './files.js'

const day = 24 * 3600 * 1000
const forms = { html: 'text/html', json: 'application/json', csv: 'text/csv' }

export class Reports {
  /** `now` returns the suite time in milliseconds. */
  constructor(now, failed) {
    this.now = now
    this.failed = failed
    $('report-form').addEventListener('submit', event => {
      event.preventDefault()
      this.show()
    })
    for (const button of document.querySelectorAll('#report-files [data-form]')) {
      button.addEventListener('click', () => this.save(button.dataset.form))
    }
  }

  /** Shows the report of the address, if it has a range. The form begins with the last day. */
  open({ query: { from, to, lateAfter } }) {
    $('report-from').value = (from ?? written(this.now() - day)).slice(0, 16)
    $('report-to').value = (to ?? written(this.now())).slice(0, 16)
    $('report-late').value = lateAfter ?? 30
    for (const id of ['report-page', 'report-files']) show($(id), false)
    for (const id of ['report-fault', 'report-state']) say($(id), '')
    if (from && to) this.ask({ from, to, lateAfter, fleet: here().query.fleet })
  }

  close() { this.asking?.abort() }

  /** Puts the range into the address, which shows the report. */
  show() {
    const { fault, query } = read()
    say($('report-fault'), fault ?? '')
    if (fault) return
    if (changed(query) === location.hash) this.open(here())
    else change(query)
  }

  async ask(query) {
    this.asking?.abort()
    const { signal } = this.asking = new AbortController()
    say($('report-state'), 'Reading the log …')
    try {
      const page = await text(path('v1/reports', { ...query, format: 'html' }), signal)
      // The frame has no scripts and no origin. It has the policy of this page.
      $('report-page').srcdoc = page
      this.query = query
      show($('report-page'), true)
      show($('report-files'), true)
      say($('report-state'), '')
    } catch (error) {
      if (signal.aborted) return
      this.fail(error)
    }
  }

  /** Saves the shown report as a file. */
  async save(form) {
    try {
      const content = await text(path('v1/reports', { ...this.query, format: form }))
      save(`report.${form}`, forms[form], content)
    } catch (error) { this.fail(error) }
  }

  fail(error) {
    say($('report-state'), '')
    if (error.status === 400) say($('report-fault'), faults(error))
    else this.failed(error)
  }
}

/** Returns a time as a field shows it, in UTC. */
const written = time => new Date(time).toISOString().slice(0, 16)

/** Returns the query of the form, or its fault. */
function read() {
  const [from, to, lateAfter] = ['from', 'to', 'late'].map(name => $(`report-${name}`).value.trim())
  if (!from || !to || from >= to) return { fault: 'The range ends before it begins.' }
  return { query: { from: `${from}:00.000Z`, to: `${to}:00.000Z`, lateAfter } }
}
