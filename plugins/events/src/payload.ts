import { createRequire } from 'node:module'
import { reasonOf } from '@plinth/kernel'
import type { TSchema } from 'typebox'
import type { Compile, Validator } from 'typebox/compile'
import type { EventRef } from './contract.ts'
import { eventsError } from './errors.ts'

const largestPayload = 2 ** 20

const validators = new WeakMap<TSchema, Validator>()

/**
 * The payload as JSON text, checked in the form in which handlers will see it.
 *
 * @throws PlinthError `PLINTH_EVENTS_PAYLOAD`
 */
export function encodePayload(ref: EventRef, payload: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(payload)
  } catch (error) {
    throw eventsError('PLINTH_EVENTS_PAYLOAD', { event: ref.id, reason: reasonOf(error) }, error)
  }
  if (text === undefined) throw eventsError('PLINTH_EVENTS_PAYLOAD', { event: ref.id, reason: 'it is undefined' })
  if (Buffer.byteLength(text) > largestPayload) {
    throw eventsError('PLINTH_EVENTS_PAYLOAD', { event: ref.id, reason: 'it is larger than 1 MiB' })
  }
  decodePayload(ref, text)
  return text
}

/**
 * The payload of JSON text that fits the schema. The reason of a misfit names the place and the rule, not the value.
 *
 * @throws PlinthError `PLINTH_EVENTS_PAYLOAD`
 */
export function decodePayload(ref: EventRef, text: string): unknown {
  const payload: unknown = JSON.parse(text)
  const validator = validatorOf(ref.schema)
  if (validator.Check(payload)) return payload
  const [fault] = validator.Errors(payload)
  const reason = fault === undefined ? 'schema' : `${fault.instancePath || 'the whole'} ${fault.message}`
  throw eventsError('PLINTH_EVENTS_PAYLOAD', { event: ref.id, reason })
}

function validatorOf(schema: TSchema): Validator {
  let validator = validators.get(schema)
  if (validator === undefined) {
    validator = loadCompile()(schema) as Validator
    validators.set(schema, validator)
  }
  return validator
}

/** Loaded with the first event: a product that publishes none does not pay for it. */
function loadCompile(): typeof Compile {
  return createRequire(import.meta.url)('typebox/compile').Compile
}
