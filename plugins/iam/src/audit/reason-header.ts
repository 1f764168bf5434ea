import { type HttpRequest, isWorded, longestReason, type RouteInfo, type RouteWrapper, Type } from '@plinth/http'
import { refusal } from '../failures.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Why an administrator does this, from `X-Reason`; absent without one, and on all but writes under `/admin`. */
    reason?: string
  }
}

const takesReason = ({ method, path }: RouteInfo) => method !== 'GET' && /^\/api\/v\d+\/admin\//.test(path)
const header = {
  'X-Reason': {
    description: `Why it is done, for the audit: percent-encoded UTF-8, at most ${longestReason} characters, not blanks alone.`,
    schema: Type.String({ maxLength: longestReason * 12 }),
  },
}

/** Reads the reason of an administrator's act before it is done (decision E16). */
export const reasonWrapper: RouteWrapper = {
  name: 'iam.reason',
  forRoute: (route) =>
    takesReason(route)
      ? (request, _reply, handle) => {
          const reason = reasonOf(request)
          if (reason !== undefined) request.reason = reason
          return handle()
        }
      : undefined,
  headers: (route) => (takesReason(route) ? { request: header, response: {} } : undefined),
}

/** @throws BusinessError "400" `iam.reason-invalid` */
function reasonOf({ headers }: Pick<HttpRequest, 'headers'>): string | undefined {
  const encoded = headers['x-reason']
  if (typeof encoded !== 'string' || encoded === '') return undefined
  const text = decoded(encoded)
  if (text === undefined || !isWorded(text) || [...text].length > longestReason) {
    throw refusal('reason-invalid', { params: { limit: longestReason }, data: { limit: longestReason } })
  }
  return text
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
