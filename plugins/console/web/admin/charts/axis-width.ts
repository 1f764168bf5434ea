/** Space in pixels next to the labels of an axis: ticks, gap and margin. */
const spacePx = 20
const minPx = 40

/**
 * Returns the width of an axis in pixels, so that none of its labels is cut.
 *
 * @param widthOf returns the width of a text in pixels
 */
export const axisWidth = (labels: readonly string[], widthOf: (text: string) => number): number =>
  Math.ceil(Math.max(minPx, ...labels.map((label) => widthOf(label) + spacePx)))
