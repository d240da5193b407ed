// The lanes of a timeline: a lane for each app and kind, in SVG. The list below has the same events for the keyboard.

import { changed } from './address.js'
import { s } from './dom.js'
import { sentence } from './sentences.js'
import { dateAndTime, dayOfYear, minuteOfDay, plural, timeOfDay, word } from './words.js'

const kinds = ['state', 'wakes', 'pushes', 'refreshes', 'transfers', 'other']
const narrow = 620

/** Returns the kind of an event: the lane of its app. */
function kindOf({ service, type }) {
  if (service === 'push') return 'pushes'
  if (service === 'fetch') return 'refreshes'
  if (service === 'transfer') return 'transfers'
  if (type.startsWith('lifecycle.wake.') || type === 'lifecycle.app.woken') return 'wakes'
  return type.startsWith('lifecycle.app.') ? 'state' : 'other'
}

const isBad = ({ type, data }) => /refused|discarded|expired|terminated|failed/.test(type) || Boolean(data?.error) || data?.result === 'failed'
const isWaiting = ({ type }) => /held|stored|scheduled/.test(type)

export class Lanes {
  constructor(container) {
    this.container = container
    this.groups = []
    new ResizeObserver(() => this.draw()).observe(container)
  }

  clear() { this.show([]) }

  show(groups) {
    this.groups = groups
    this.draw()
  }

  draw() {
    const width = Math.floor(this.container.clientWidth)
    const lanes = lanesOf(this.groups)
    this.container.hidden = lanes.length === 0
    if (width < 40 || lanes.length === 0) return this.container.replaceChildren()
    const frame = this.frame(width, lanes)
    const svg = s('svg', { width, height: frame.height, viewBox: `0 0 ${width} ${frame.height}`, role: 'img', 'aria-label': summary(lanes) })
    this.drawAxis(svg, frame)
    lanes.forEach((lane, index) => this.drawLane(svg, frame, lane, frame.top + index * frame.row))
    this.container.replaceChildren(svg)
  }

  frame(width, lanes) {
    const times = this.groups.flatMap(group => group.steps.map(step => Date.parse(step.time)))
    const [from, until] = [Math.min(...times), Math.max(...times)]
    const isNarrow = width < narrow
    const row = isNarrow ? 40 : 26
    const [left, right] = [isNarrow ? 8 : 220, width - 12]
    const length = Math.max(1000, until - from)
    return { width, isNarrow, row, left, right, from, length, top: 6, height: 6 + lanes.length * row + 26,
      x: time => left + (right - left) * (Date.parse(time) - from) / length }
  }

  drawAxis(svg, frame) {
    const { left, right, from, length, height } = frame
    const count = Math.max(2, Math.floor((right - left) / 110))
    const label = length > 2 * 86_400_000 ? dayOfYear : length > 600_000 ? minuteOfDay : timeOfDay
    for (let index = 0; index <= count; index += 1) {
      const x = left + (right - left) * index / count
      const anchor = index === 0 ? 'start' : index === count ? 'end' : 'middle'
      svg.append(s('line', { class: 'grid', x1: x, x2: x, y1: 0, y2: height - 22 }),
        s('text', { x, y: height - 6, 'text-anchor': anchor }, label(new Date(from + length * index / count).toISOString())))
    }
  }

  drawLane(svg, frame, lane, top) {
    const middle = top + (frame.isNarrow ? 28 : 13)
    svg.append(s('text', { class: 'lane-name', x: frame.isNarrow ? frame.left : 0, y: frame.isNarrow ? top + 14 : middle + 4 }, lane.name),
      s('line', { class: 'lane', x1: frame.left, x2: frame.right, y1: middle, y2: middle }))
    if (lane.kind === 'state') return this.drawStates(svg, frame, lane, middle)
    for (const group of lane.groups) this.drawGroup(svg, frame, group, middle)
  }

  /** Bars of the states of an app. */
  drawStates(svg, frame, lane, middle) {
    const changes = lane.groups.map(group => group.steps[0]).filter(step => step.data?.state).reverse()
    changes.forEach((change, index) => {
      const [from, until] = [frame.x(change.time), changes[index + 1] ? frame.x(changes[index + 1].time) : frame.right]
      svg.append(linked(change, `${word(change.data.state)} since ${dateAndTime(change.time)}`,
        s('rect', { class: `is-${change.data.state}`, x: from, y: middle - 6, width: Math.max(1.5, until - from), height: 12 })))
    })
  }

  drawGroup(svg, frame, { steps }, middle) {
    const [latest, first] = [steps[0], steps.at(-1)]
    const words = steps.map(step => `${timeOfDay(step.time)} ${sentence(step)}`).reverse().join('\n')
    const x = frame.x(latest.time)
    const parts = [mark(x, middle, latest)]
    if (steps.length > 1) parts.unshift(s('line', { class: `wait of-${latest.service}`, x1: frame.x(first.time), x2: x, y1: middle, y2: middle }))
    svg.append(linked(latest, words, ...parts))
  }
}

/** A cross for a bad end, a ring for a wait, a dot for all else. */
function mark(x, y, step) {
  if (isBad(step)) return s('path', { class: 'mark is-bad', d: `M${x - 4} ${y - 4}l8 8m0-8l-8 8` })
  if (isWaiting(step)) return s('circle', { class: `mark is-waiting of-${step.service}`, cx: x, cy: y, r: 4 })
  return s('circle', { class: `mark of-${step.service}`, cx: x, cy: y, r: 4 })
}

function linked(step, words, ...children) {
  return s('a', { href: changed({ why: step.event }), tabindex: '-1' }, s('title', {}, words), ...children)
}

/** Returns the lanes by app and kind; events without an app are the device's. */
function lanesOf(groups) {
  const lanes = new Map()
  for (const group of groups) {
    const app = group.steps[0].app ?? ''
    const kind = kindOf(group.steps.find(step => step.service === 'push') ?? group.steps[0])
    const key = `${app} ${kind}`
    if (!lanes.has(key)) lanes.set(key, { app, kind, name: `${app.split('.').at(-1) || 'device'} · ${kind}`, groups: [] })
    lanes.get(key).groups.push(group)
  }
  return [...lanes.values()].sort((a, b) => a.app < b.app ? -1 : a.app > b.app ? 1 : kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
}

const summary = lanes => `Events over time: ${lanes.map(lane => `${lane.name} ${plural(lane.groups.length, 'event', 'events')}`).join(', ')}. The list below has each of them.`
