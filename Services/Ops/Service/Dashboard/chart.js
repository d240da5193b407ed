// Charts in SVG, drawn in the size of their elements.

import { h, keyed, s, say } from './dom.js'
import { dayOfYear, minuteOfDay, number } from './words.js'

/** Returns the smallest of 1, 2, 5, 10, 20, 50 … that is not less than `value`. */
function round(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return [1, 2, 5, 10].map(step => step * power).find(step => step >= value)
}

/** A chart of stacked columns, one per point, with a text readout of the selected point. */
export class Chart {
  /**
   * `series` are the stacked members of a point; `things` names the counted things. `open` shows what a point has counted,
   * and `zoom` shows only a range; both get two times.
   */
  constructor(container, readout, { series, things, height, open, zoom }) {
    this.container = container
    this.readout = readout
    this.series = series
    this.things = things
    Object.assign(this, { open, zoom, height })
    this.points = []
    this.chosen = undefined
    new ResizeObserver(() => this.draw()).observe(container)
    this.jumps = []
    this.listenToPointer()
    // Screen readers announce the readout only while the chart has the focus.
    container.addEventListener('focus', () => { readout.ariaLive = 'polite' })
    container.addEventListener('blur', () => {
      readout.ariaLive = 'off'
      this.choose(undefined)
    })
    container.addEventListener('keydown', event => {
      if (event.key === 'Enter' && this.chosen !== undefined) return this.use(this.chosen, this.chosen, event.shiftKey)
      const last = this.points.length - 1
      const from = this.chosen ?? last + 1
      const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key]
      if (event.key === 'Escape') this.choose(undefined)
      if (to === undefined) return
      event.preventDefault()
      this.choose(Math.max(0, Math.min(last, to)))
    })
  }

  /** A press opens a point, and a drag zooms in. */
  listenToPointer() {
    const { container } = this
    container.addEventListener('pointermove', event => this.choose(this.indexAt(event.clientX)))
    container.addEventListener('pointerleave', () => { if (this.pressed === undefined) this.choose(undefined) })
    container.addEventListener('pointerdown', event => {
      if (event.button !== 0) return
      this.pressed = this.indexAt(event.clientX)
      if (event.pointerType === 'mouse') container.setPointerCapture(event.pointerId)
    })
    container.addEventListener('pointercancel', () => { this.pressed = undefined })
    container.addEventListener('pointerup', event => {
      const { pressed } = this
      this.pressed = undefined
      if (pressed === undefined || this.points.length === 0) return
      const released = this.indexAt(event.clientX)
      this.use(Math.min(pressed, released), Math.max(pressed, released), pressed !== released)
    })
  }

  use(first, last, isRange) {
    const [from, until] = [this.points[first].time, new Date(Date.parse(this.points[last].time) + this.interval * 1000).toISOString()]
    this.choose(undefined)
    if (isRange) this.zoom(from, until)
    else if (this.sum(this.points[first]) > 0) this.open(from, until)
  }

  /** `interval` is the number of seconds per point; `jumps` are the ranges over which the clock was advanced. */
  show(points, interval, jumps = []) {
    this.jumps = jumps
    this.points = points
    this.interval = interval
    this.label = interval < 86_400 ? minuteOfDay : dayOfYear
    this.draw()
  }

  indexAt(x) {
    const { left, right } = this.frame ?? { left: 0, right: 1 }
    const share = (x - this.container.getBoundingClientRect().left - left) / (right - left)
    return Math.max(0, Math.min(this.points.length - 1, Math.floor(share * this.points.length)))
  }

  choose(index) {
    if (index === this.chosen) return
    this.chosen = index
    this.draw()
  }

  draw() {
    const { points } = this
    const [width, height] = [Math.floor(this.container.clientWidth), this.height]
    if (width < 40 || points.length === 0) return
    const greatest = Math.max(4, ...points.map(point => this.sum(point)))
    const step = round(greatest / 4)
    const top = step * Math.ceil(greatest / step)
    const frame = this.frame = { left: 14 + 7 * number(top).length, right: width - 4, top: 10, bottom: height - 24 }
    const y = value => frame.bottom - (frame.bottom - frame.top) * value / top
    const column = (frame.right - frame.left) / points.length
    const svg = s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': this.summary() })

    for (let value = 0; value <= top; value += step) {
      svg.append(
        s('line', { class: value === 0 ? 'axis' : 'grid', x1: frame.left, x2: frame.right, y1: Math.round(y(value)) + 0.5, y2: Math.round(y(value)) + 0.5 }),
        s('text', { x: frame.left - 8, y: y(value) + 4, 'text-anchor': 'end' }, number(value)))
    }
    // Labels at round times, with enough room for each.
    const room = Math.ceil(points.length * 60 / (frame.right - frame.left))
    const every = [1, 2, 4, 5, 10, 20, 30].find(step => step >= room) ?? 60
    points.forEach((point, index) => {
      const x = frame.left + column * (index + 0.5)
      if (Date.parse(point.time) / 1000 / this.interval % every !== 0 || x > frame.right - 16) return
      svg.append(s('text', { x, y: height - 6, 'text-anchor': 'middle' }, this.label(point.time)))
    })

    points.forEach((point, index) => {
      let base = 0
      const group = s('g', { class: index === points.length - 1 ? 'unfinished' : '' })
      for (const name of this.series) {
        const count = point[name] ?? 0
        if (count === 0) continue
        const [low, high] = [y(base), y(base + count)]
        base += count
        group.append(s('rect', {
          class: `of-${name}`, x: frame.left + column * index + 0.5, y: high, width: Math.max(1, column - 1), height: Math.max(0.5, low - high),
        }))
      }
      svg.append(group)
    })
    this.drawJumps(svg, frame)
    if (this.chosen !== undefined && points[this.chosen]) {
      const [first, last] = [Math.min(this.chosen, this.pressed ?? this.chosen), Math.max(this.chosen, this.pressed ?? this.chosen)]
      svg.append(s('rect', {
        class: 'chosen', x: frame.left + column * first, y: frame.top, width: column * (last - first + 1), height: frame.bottom - frame.top }))
    }
    this.container.replaceChildren(svg)
    this.tell()
  }

  /** Marks the times to which the clock was advanced. */
  drawJumps(svg, { left, right, top, bottom }) {
    const from = Date.parse(this.points[0].time)
    const length = this.points.length * this.interval * 1000
    for (const { until } of this.jumps.filter(jump => jump.until > from && jump.until < from + length)) {
      const x = left + (right - left) * (until - from) / length
      svg.append(s('path', { class: 'jump', d: `M${x} ${top}V${bottom}m-4 ${top - bottom}h8l-4 6z` },
        s('title', {}, `The clock was advanced to ${new Date(until).toISOString().slice(0, 19).replace('T', ' ')}`)))
    }
  }

  sum(point) { return this.series.reduce((all, name) => all + (point[name] ?? 0), 0) }

  summary() {
    const sums = this.series.map(name => [name, this.points.reduce((all, point) => all + (point[name] ?? 0), 0)])
    const all = sums.reduce((sum, [, count]) => sum + count, 0)
    return `${number(all)} ${this.things}: ` + sums.map(([name, count]) => `${name} ${number(count)}`).join(', ')
  }

  tell() {
    const point = this.points[this.chosen]
    // The last point is not complete yet.
    const latest = this.points.at(-2)
    if (point) say(this.readout, `${this.label(point.time)}: ${this.sentence(point)}`)
    else say(this.readout, latest ? `Last complete point, ${this.label(latest.time)}: ${number(this.sum(latest))} ${this.things}` : '')
  }

  sentence(point) {
    const parts = this.series.filter(name => point[name] > 0).map(name => `${name} ${number(point[name])}`)
    return parts.length === 0 ? `no ${this.things}` : `${number(this.sum(point))} ${this.things} · ${parts.join(' · ')}`
  }
}

/** Draws a small line chart without axes. */
export function spark(container, values, words) {
  const [width, height] = [240, 28]
  const greatest = Math.max(1, ...values)
  const x = index => (index * width / Math.max(1, values.length - 1)).toFixed(1)
  const line = values.map((value, index) => `${x(index)},${(height - 2 - (height - 4) * value / greatest).toFixed(1)}`).join(' ')
  let svg = container.firstElementChild
  if (!svg) {
    svg = s('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' },
      s('polygon'), s('polyline', { 'vector-effect': 'non-scaling-stroke' }))
    container.append(svg)
  }
  svg.setAttribute('aria-label', words)
  svg.firstElementChild.setAttribute('points', `0,${height} ${line} ${width},${height}`)
  svg.lastElementChild.setAttribute('points', line)
}

/** Fills the legend of a chart: the series with colours, counts and links. */
export function legend(list, series, points, address) {
  keyed(list, series, name => name,
    name => h('li', {}, h('span', { class: `dot of-${name}`, 'aria-hidden': 'true' }), h('a', {}, name, ' ', h('strong'))),
    (item, name) => {
      const link = item.lastElementChild
      link.setAttribute('href', address(name))
      say(link.lastElementChild, number(points.reduce((all, point) => all + (point[name] ?? 0), 0)))
    })
}
