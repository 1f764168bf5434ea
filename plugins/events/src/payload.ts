import { errorReason } from '@plinth/kernel'
import { Ajv, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import type { TSchema } from 'typebox'
import type { EventRef } from './contract.ts'
import { eventsError } from './declarations.ts'

/**
 * Creates the error for an invalid value.
 *
 * @param reason contains the place and the rule, but not the value
 */
type Misfit = (reason: string, cause?: unknown) => Error

/**
 * Returns a value as JSON text that fits the schema.
 *
 * @param largest maximum size of the text in bytes
 * @throws the error of `misfit` for a value that is not JSON, is too large or violates the schema
 */
export function encodeJson(schema: TSchema, value: unknown, largest: number, misfit: Misfit): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw misfit(errorReason(error), error)
  }
  if (text === undefined) throw misfit('it is undefined')
  if (Buffer.byteLength(text) > largest) throw misfit(`it is larger than ${largest / 1024} KiB`)
  decodeJson(schema, text, misfit)
  return text
}

/**
 * Parses and validates JSON text.
 *
 * @throws the error of `misfit` for a value that violates the schema
 */
function decodeJson(schema: TSchema, text: string, misfit: Misfit): unknown {
  const value: unknown = JSON.parse(text)
  const validate = validatorOf(schema)
  if (validate(value)) return value
  const [problem] = validate.errors ?? []
  throw misfit(problem === undefined ? 'schema' : `${problem.instancePath || 'the whole'} ${problem.message}`)
}

export const fitsSchema = (schema: TSchema, value: unknown): boolean => validatorOf(schema)(value)

let ajv: Ajv | undefined
const validators = new WeakMap<TSchema, ValidateFunction>()

function validatorOf(schema: TSchema): ValidateFunction {
  // The same library validates HTTP requests, so no further library is loaded.
  ajv ??= ajvFormats.default(new Ajv({ strict: false }))
  const validate = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, validate)
  return validate
}

const largestPayload = 2 ** 20

const misfitOf =
  ({ id }: EventRef): Misfit =>
  (reason, cause) =>
    eventsError('PLINTH_EVENTS_PAYLOAD', { event: id, reason }, cause)

/** @throws PlinthError `PLINTH_EVENTS_PAYLOAD` */
export const encodePayload = (ref: EventRef, payload: unknown): string =>
  encodeJson(ref.schema, payload, largestPayload, misfitOf(ref))

/** @throws PlinthError `PLINTH_EVENTS_PAYLOAD` */
export const decodePayload = (ref: EventRef, text: string): unknown => decodeJson(ref.schema, text, misfitOf(ref))
