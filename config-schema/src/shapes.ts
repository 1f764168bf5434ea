/**
 * Entry point for code that checks declarations and contributions of plugins at run time.
 *
 * @module
 */
export { type Shape, type ShapeType, shape } from './shape.ts'
export { appendPathProperty, describeValue, findShapeProblems, type ShapeProblem } from './shape-check.ts'
