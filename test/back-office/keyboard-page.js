;(() => {
  /** Functions that run in the page for `keyboard-hand.ts`. They only read the page. */
  const rows = 'main :is(tr, li)[tabindex]'
  const isTyping = (element) => element.matches('input:not([type=checkbox], [type=radio]), textarea, select')

  /** Returns the channels and the opacity of a computed colour, each from 0 to 1. */
  function channelsOf(colour) {
    const numbers = colour.match(/[\d.]+(?:e-\d+)?/g)?.map(Number) ?? []
    const [red = 0, green = 0, blue = 0, alpha = 1] = numbers
    return colour.startsWith('color(') ? [red, green, blue, alpha] : [red / 255, green / 255, blue / 255, alpha]
  }

  function luminanceOf(colour) {
    const [red, green, blue] = channelsOf(colour).map((one) =>
      one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4,
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }

  function contrastOf(one, other) {
    const [dark, light] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }

  /** Returns the first opaque background at an element or below it. */
  function backgroundOf(element) {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (channelsOf(backgroundColor)[3] > 0.9) return backgroundColor
    }
    return 'rgb(255, 255, 255)'
  }

  /** Returns the element that shows the ring of the focused element: itself, a part of a switch, or the box of a field. */
  function ringOf(focused) {
    const parents = []
    for (let at = focused.parentElement; at !== null && parents.length < 4; at = at.parentElement) parents.push(at)
    return [focused, focused.nextElementSibling, ...parents].find((element) => {
      if (element === null) return false
      const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element)
      return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2 && channelsOf(outlineColor)[3] > 0.9
    })
  }

  /** Returns an element that covers the whole element; null if it is outside of the window; undefined if it is visible. */
  function coverOf(element) {
    const { left, top, right, bottom } = element.getBoundingClientRect()
    const [x1, x2] = [Math.max(left, 0) + 3, Math.min(right, innerWidth) - 3]
    const [y1, y2] = [Math.max(top, 0) + 3, Math.min(bottom, innerHeight) - 3]
    if (x1 > x2 || y1 > y2) return null
    const points = [[(x1 + x2) / 2, (y1 + y2) / 2], ...[x1, x2].flatMap((x) => [y1, y2].map((y) => [x, y]))]
    const hits = points.map(([x, y]) => document.elementFromPoint(x, y))
    const isOwn = (hit) => element.contains(hit) || hit?.closest('label')?.contains(element) === true
    return hits.some(isOwn) ? undefined : hits[0]
  }

  /** Returns how many edges of the ring are cut off by elements that hide what is outside of them. */
  function cutEdges(ring) {
    const { left, top, right, bottom } = ring.getBoundingClientRect()
    const grows = Number.parseFloat(getComputedStyle(ring).outlineOffset)
    const edges = { left: left - grows, top: top - grows, right: right + grows, bottom: bottom + grows }
    const cut = new Set()
    for (let at = ring.parentElement; at !== null && at !== document.body; at = at.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(at)
      const box = at.getBoundingClientRect()
      if (overflowX !== 'visible' && edges.left < box.left - 1) cut.add('left')
      if (overflowX !== 'visible' && edges.right > box.right + 1) cut.add('right')
      if (overflowY !== 'visible' && edges.top < box.top - 1) cut.add('top')
      if (overflowY !== 'visible' && edges.bottom > box.bottom + 1) cut.add('bottom')
    }
    return cut.size
  }

  /** The open dialogs, popovers and menus, each with the element and the address from which it was opened. */
  const layers = new Map()
  /** The same for all layers that were open. */
  const openings = new WeakMap()
  /** The element on which the last key acted. */
  let acted
  /** The layer that was closed since the last key. */
  let closed

  /** Records the element on which the next key acts. */
  function beforeKey() {
    acted = document.activeElement
    closed = undefined
  }

  function followLayers() {
    for (const layer of document.querySelectorAll('[role=dialog], [role=menu]')) {
      if (layers.has(layer)) continue
      const opening = {
        opener: acted,
        layerOfOpener: acted?.closest('[role=dialog], [role=menu]'),
        path: location.pathname,
      }
      layers.set(layer, opening)
      openings.set(layer, opening)
      closed = undefined
    }
    for (const [layer, opening] of layers) {
      if (layer.isConnected) continue
      // If another layer was opened from this one, the focus is there.
      const isLast = [...layers.keys()].at(-1) === layer
      layers.delete(layer)
      if (isLast) closed = opening
    }
  }

  /** Returns why the focus is not where it must be after a layer was closed. */
  function findReturnProblem() {
    followLayers()
    if (closed === undefined) return undefined
    const focused = document.activeElement
    if (closed.path !== location.pathname)
      return document.getElementById('content').contains(focused) ? undefined : 'the focus is not in the new page'
    let { opener, layerOfOpener } = closed
    while (opener != null && !opener.isConnected && layerOfOpener != null)
      ({ opener, layerOfOpener } = openings.get(layerOfOpener) ?? {})
    if (!opener?.isConnected || opener === document.body || opener === focused) return undefined
    return `the focus did not return to ${opener.outerHTML.slice(0, 160)}`
  }

  /** Returns why the user cannot see which element has the focus; undefined if the user can. */
  function findRingProblem() {
    const focused = document.activeElement
    if (focused === null || focused === document.body)
      return `no element has the focus after ${acted?.outerHTML.slice(0, 160)}`
    // Nothing happens on the content itself. It is where the next Tab starts on a new page.
    if (focused.id === 'content') return undefined
    const name = focused.outerHTML.slice(0, 160)
    const ring = ringOf(focused)
    if (ring === undefined) return `no ring: ${name}`
    const { outlineColor, outlineOffset } = getComputedStyle(ring)
    const behind = backgroundOf(Number.parseFloat(outlineOffset) < 0 ? ring : ring.parentElement)
    const contrast = contrastOf(outlineColor, behind)
    if (contrast < 3) return `the ring ${outlineColor} on ${behind} has the contrast ${contrast.toFixed(1)}: ${name}`
    const cover = coverOf(ring)
    if (cover !== undefined) return `covered by ${cover?.outerHTML.slice(0, 160)}: ${name}`
    return cutEdges(ring) > 1 ? `the ring is cut off: ${name}` : undefined
  }

  const findFocusProblem = () => findReturnProblem() ?? findRingProblem()

  /** Returns the key that brings the focus closer to an element; undefined if the element has the focus. */
  function nextKey(target) {
    const focused = document.activeElement ?? document.body
    if (target.contains(focused)) return undefined
    if (document.querySelector('[role=dialog]') === null && document.querySelector('main')?.contains(target)) {
      // A link at the top of the page skips the navigation.
      if (focused === document.body) return 'Tab'
      if (focused.matches('a[href="#content"]')) return 'Enter'
      const row = target.closest(rows)
      if (row !== null && !row.contains(focused)) {
        if (isTyping(focused)) return 'Tab'
        const from = focused.closest(rows)
        return from !== null && row.compareDocumentPosition(from) & Node.DOCUMENT_POSITION_FOLLOWING ? 'k' : 'j'
      }
    }
    return focused.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_PRECEDING ? 'Shift+Tab' : 'Tab'
  }

  globalThis.keyboardPage = { beforeKey, findFocusProblem, nextKey }
})()
