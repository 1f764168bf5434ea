import type { OutgoingHttp } from '@plinth/outgoing-http'
import { isOutgoingHttpError } from '@plinth/outgoing-http'

/** Rules for endpoints, which browsers choose. */
export interface EndpointRules {
  /** Allowed hosts; `*.name` allows all hosts below a name. */
  readonly hosts: () => readonly string[]
  readonly http: Pick<OutgoingHttp, 'check'>
}

/**
 * Returns the rule that an endpoint violates; undefined if it is allowed. Does not look up the host: `OutgoingHttp` checks
 * its addresses at each request.
 */
export function endpointProblem(endpoint: string, { hosts, http }: EndpointRules): string | undefined {
  const url = URL.parse(endpoint)
  if (url?.protocol !== 'https:') return 'https'
  const isListed = hosts().some((host) =>
    host.startsWith('*.') ? url.host.endsWith(host.slice(1)) : url.host === host,
  )
  if (!isListed) return 'host'
  try {
    http.check(url)
    return undefined
  } catch (error) {
    if (!isOutgoingHttpError(error)) throw error
    return error.code
  }
}
