// The report of a time range, as a page in a frame without scripts.

import { path, text } from './api.js'
import { $, say, show } from './dom.js'

const day = 24 * 3600 * 1000
const forms = { html: 'text/html', json: 'application/json', csv: 'text/csv' }

export class Reports {
  /** `now` returns the suite time in milliseconds. */
  constructor(now, failed) {
    this.now = now
    this.failed = failed
    $('report-form').addEventListener('submit', event => {
      event.preventDefault()
      this.ask()
    })
    for (const button of document.querySelectorAll('#report-files [data-form]')) {
      button.addEventListener('click', () => this.save(button.dataset.form))
    }
  }

  /** Shows the form. The first time, the range is the last day. */
  open() {
    if ($('report-to').value) return
    $('report-to').value = written(this.now())
    $('report-from').value = written(this.now() - day)
  }

  close() { this.asking?.abort() }

  async ask() {
    const range = read()
    say($('report-fault'), range.fault ?? '')
    if (range.fault) return
    this.asking?.abort()
    const { signal } = this.asking = new AbortController()
    say($('report-state'), 'Reading the log …')
    try {
      const page = await text(path('v1/reports', { ...range.query, format: 'html' }), signal)
      // The frame has no scripts and no origin. It has the policy of this page.
      $('report-page').srcdoc = page
      this.query = range.query
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
      const link = document.createElement('a')
      link.href = URL.createObjectURL(new Blob([content], { type: forms[form] }))
      link.download = `report.${form}`
      link.click()
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
    } catch (error) { this.fail(error) }
  }

  fail(error) {
    say($('report-state'), '')
    if (error.status === 400) say($('report-fault'), error.faults.map(fault => `${fault.pointer.slice(1)} ${fault.detail}`).join('; ') || error.message)
    else this.failed(error)
  }
}

/** Returns a time as a field shows it, in UTC. */
const written = time => new Date(time).toISOString().slice(0, 16)

/** Returns the query of the form, or its fault. */
function read() {
  const [from, to, fleet, lateAfter] = ['from', 'to', 'fleet', 'late'].map(name => $(`report-${name}`).value.trim())
  if (!from || !to || from >= to) return { fault: 'The range ends before it begins.' }
  if (!/^[A-Za-z0-9._:-]*$/.test(fleet)) return { fault: 'Names contain only letters, digits and . _ : -' }
  return { query: { from: `${from}:00.000Z`, to: `${to}:00.000Z`, fleet, lateAfter } }
}
