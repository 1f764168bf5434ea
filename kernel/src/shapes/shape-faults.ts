import type { Shape, ShapeType } from './shape.ts'
import { pathTo, type ShapeProblem, shapeProblems } from './shape-check.ts'

const shapeTypes: readonly ShapeType[] = ['string', 'integer', 'number', 'boolean', 'array', 'object', 'function']
const knownShape: Shape = { properties: shapeOfShapes(), additionalProperties: false }

/** The shape of a shape. */
function shapeOfShapes() {
  const type: Shape = { type: 'string', enum: shapeTypes }
  const text: Shape = { type: 'string' }
  const count: Shape = { type: 'integer', minimum: 0 }
  const number: Shape = { type: 'number' }
  return {
    type: { type: ['string', 'array'], enum: shapeTypes, items: type },
    description: text,
    enum: { type: 'array', minItems: 1 },
    pattern: text,
    minLength: count,
    maxLength: count,
    minItems: count,
    maxItems: count,
    minProperties: count,
    maxProperties: count,
    minimum: number,
    maximum: number,
    items: { type: 'object' },
    properties: { type: 'object' },
    required: { type: 'array', items: text },
    additionalProperties: { type: ['boolean', 'object'] },
    propertyNames: { type: 'object' },
    discriminator: { type: 'object', properties: { propertyName: text }, required: ['propertyName'] },
    oneOf: { type: 'array', items: { type: 'object' } },
  } satisfies Record<keyof Shape, Shape>
}

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null
const checked = new WeakSet<object>()

/** What is wrong with a shape itself: an unknown keyword, an operand of the wrong type. Each shape is checked once. */
export function problemsOfShape(shape: unknown, path: string): ShapeProblem[] {
  if (!isRecord(shape) || checked.has(shape)) {
    return isRecord(shape) ? [] : shapeProblems({ type: 'object' }, shape, path)
  }
  checked.add(shape)
  const own = shapeProblems(knownShape, shape, path)
  if (own.length > 0) {
    checked.delete(shape)
    return own
  }
  const { items, properties = {}, additionalProperties, propertyNames, oneOf = [] } = shape as Shape
  const inner: readonly (readonly [place: string, shape: unknown])[] = [
    ...(items === undefined ? [] : [[`${path}.items`, items] as const]),
    ...(propertyNames === undefined ? [] : [[`${path}.propertyNames`, propertyNames] as const]),
    ...(typeof additionalProperties === 'object'
      ? [[`${path}.additionalProperties`, additionalProperties] as const]
      : []),
    ...oneOf.map((one, index) => [`${path}.oneOf[${index}]`, one] as const),
    ...Object.entries(properties).map(([name, one]) => [pathTo(`${path}.properties`, name), one] as const),
  ]
  const problems = inner.flatMap(([place, one]) => problemsOfShape(one, place))
  if (problems.length > 0) checked.delete(shape)
  return problems
}
