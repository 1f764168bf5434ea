import { reasonOf } from '@plinth/kernel'
import { Ajv, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import type { TSchema } from 'typebox'
import type { EventRef } from './contract.ts'
import { eventsError } from './declarations.ts'

/** Makes the error of a value that does not fit. @param reason names the place and the rule, not the value */
type Misfit = (reason: string, cause?: unknown) => Error

/**
 * A value as JSON text, checked in the form in which it will be read again.
 *
 * @param largest bytes of the text
 * @throws what `misfit` makes of a value that JSON cannot carry, that is too large or breaks the schema
 */
export function encodeJson(schema: TSchema, value: unknown, largest: number, misfit: Misfit): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw misfit(reasonOf(error), error)
  }
  if (text === undefined) throw misfit('it is undefined')
  if (Buffer.byteLength(text) > largest) throw misfit(`it is larger than ${largest / 1024} KiB`)
  decodeJson(schema, text, misfit)
  return text
}

/** The value of JSON text. @throws what `misfit` makes of one that breaks the schema */
function decodeJson(schema: TSchema, text: string, misfit: Misfit): unknown {
  const value: unknown = JSON.parse(text)
  const validate = validatorOf(schema)
  if (validate(value)) return value
  const [fault] = validate.errors ?? []
  throw misfit(fault === undefined ? 'schema' : `${fault.instancePath || 'the whole'} ${fault.message}`)
}

export const fitsSchema = (schema: TSchema, value: unknown): boolean => validatorOf(schema)(value)

let ajv: Ajv | undefined
const validators = new WeakMap<TSchema, ValidateFunction>()

function validatorOf(schema: TSchema): ValidateFunction {
  // The validator of HTTP requests, so nothing more is loaded while somebody waits for an event to be written.
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
