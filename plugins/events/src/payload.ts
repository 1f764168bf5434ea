import { decodeJson, encodeJson, type Misfit } from './checked-json.ts'
import type { EventRef } from './contract.ts'
import { eventsError } from './errors.ts'

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
