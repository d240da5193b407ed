// A form of filters. The address has their values, so any list can be shared, and Back undoes a change.

import { change, here } from './address.js'
import { h, say } from './dom.js'

const isName = text => /^[A-Za-z0-9._:*-]*$/.test(text)
let forms = 0

/** A field is `{name, label, options}` for a choice, `{name, label, kind: 'time' | 'text' | 'number'}` for others. */
export class Filters {
  constructor(form, fields) {
    this.fields = fields
    forms += 1
    this.fault = h('p', { class: 'fault', role: 'alert' })
    this.inputs = new Map(fields.map(field => [field.name, input(field)]))
    // On phones, the form is closed until it is needed.
    this.toggle = h('button', { type: 'button', class: 'toggle', 'aria-expanded': 'false', onclick: () => this.open(form) })
    form.append(this.toggle, ...fields.map(field => h('label', {}, field.label, ' ', this.inputs.get(field.name))),
      h('button', { type: 'button', class: 'quiet', onclick: () => this.clear() }, 'Clear'), this.fault)
    form.addEventListener('submit', event => event.preventDefault())
    form.addEventListener('change', event => this.take(event.target))
    form.addEventListener('input', event => {
      if (event.target.type !== 'search') return
      clearTimeout(this.typing)
      this.typing = setTimeout(() => this.take(event.target, this.typed === event.target), 300)
    })
  }

  open(form) {
    const isOpen = form.toggleAttribute('data-open')
    this.toggle.setAttribute('aria-expanded', String(isOpen))
  }

  /** Writes the values of the address into the form, and returns them. */
  read() {
    const { query } = here()
    for (const field of this.fields) {
      const element = this.inputs.get(field.name)
      const text = shown(field.kind, query[field.name] ?? '')
      // A field that the user is writing in must not change.
      if (element.value !== text && !(element === document.activeElement && element.type === 'search')) element.value = text
    }
    const count = this.fields.filter(({ name }) => query[name]).length
    say(this.toggle, count > 0 ? `Filters: ${count}` : 'Filters')
    say(this.fault, '')
    return Object.fromEntries(this.fields.map(({ name }) => [name, query[name]]))
  }

  take(element, isSame = false) {
    clearTimeout(this.typing)
    const field = this.fields.find(each => each.name === element.name)
    const value = element.value.trim()
    if (field.kind === undefined && !field.options && !isName(value)) {
      return say(this.fault, 'Names contain only letters, digits and . _ : -')
    }
    say(this.fault, '')
    this.typed = element
    change({ [field.name]: field.kind === 'time' && value ? utc(value) : value, cursor: '' }, { isNew: !isSame })
  }

  clear() {
    for (const element of this.inputs.values()) element.value = ''
    change(Object.fromEntries([...this.inputs.keys(), 'cursor'].map(name => [name, ''])))
  }

  /** Shows the faults of a refused request. */
  refuse(error) { say(this.fault, faults(error)) }
}

/** Returns a value of the address as the field shows it; nothing if the field can't show it. */
function shown(kind, value) {
  if (kind === 'time') return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value) ? value.slice(0, 19) : ''
  return kind !== 'number' || /^\d+$/.test(value) ? value : ''
}

/** Returns the faults of a request in one line. */
export const faults = error => error.faults.map(each => `${each.pointer.slice(1)} ${each.detail}`).join('; ') || error.message

/** A local time without a zone is a time in UTC here. */
const utc = text => `${text.length === 16 ? `${text}:00` : text.slice(0, 19)}.000Z`

function input({ name, options, kind, hint }) {
  const id = `filter-${forms}-${name}`
  if (options) {
    return h('select', { id, name }, options.map(each => {
      const [value, words] = Array.isArray(each) ? each : [each, each]
      return h('option', { value }, words)
    }))
  }
  const type = { time: 'datetime-local', number: 'number' }[kind] ?? 'search'
  return h('input', {
    id, name, type, step: kind === 'time' ? '1' : undefined, min: kind === 'number' ? '0' : undefined,
    placeholder: hint, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', maxlength: kind === 'text' ? '200' : '128' })
}
