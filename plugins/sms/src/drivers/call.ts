import type { Clock, DeliveryOutcome } from '@plinth/kernel'
import { isOutgoingHttpError, type OutgoingHttp, type OutgoingRequest } from '@plinth/outgoing-http'
import type { SmsConfig } from '../config.ts'

export interface DriverParts {
  readonly config: SmsConfig
  readonly http: OutgoingHttp
  readonly clock: Pick<Clock, 'now'>
}

const deadlineMs = 10_000

/** Asks a company to send. Without an answer the outcome is `unknown` when it may have got the message. */
export async function post(
  http: OutgoingHttp,
  provider: string,
  request: Omit<OutgoingRequest, 'method' | 'deadlineMs'>,
  outcomeOf: (status: number, body: string) => DeliveryOutcome,
): Promise<DeliveryOutcome> {
  try {
    const { status, body } = await http.request({ ...request, method: 'POST', deadlineMs })
    return outcomeOf(status, body)
  } catch (error) {
    if (!isOutgoingHttpError(error)) throw error
    const outcome = error.mayHaveArrived ? 'unknown' : 'deferred'
    return { outcome, errorCode: `sms.${error.code}`, errorMessage: error.message, provider }
  }
}
