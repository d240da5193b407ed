// Files that the page saves, and texts that it copies.

import { h } from './dom.js'

/** Saves a text as a file. */
export function save(name, type, text) {
  const link = h('a', { href: URL.createObjectURL(new Blob([text], { type })), download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** Returns a button that copies a text. */
export function copier(text, words, name = words) {
  const button = h('button', { type: 'button', class: 'small', 'aria-label': name, onclick: async () => {
    button.textContent = await copy(text()) ? 'Copied' : 'Not copied'
    setTimeout(() => { button.textContent = words }, 1500)
  } }, words)
  return button
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // A page without TLS has no clipboard.
    return copySelected(text)
  }
}

function copySelected(text) {
  const field = h('textarea', { class: 'hidden', readonly: true })
  field.value = text
  const host = document.querySelector('dialog[open]') ?? document.body
  const focused = document.activeElement
  host.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  focused?.focus()
  return isCopied
}
