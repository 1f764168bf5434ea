import { defined } from '@plinth/kernel'
import type { Operator, Principal } from '../contract.ts'
import { requirePrincipal } from './access-guard.ts'

type Request = Pick<Operator, 'clientIp' | 'traceId'> & {
  readonly principal: Principal | undefined
  readonly reason?: string | undefined
}

/**
 * Who asks for something, as use cases and the audit need it.
 *
 * @throws BusinessError "401" for a request without a principal
 */
export function operatorOf(request: Request): Operator {
  const { clientIp, traceId, reason } = request
  return defined({ principal: requirePrincipal(request), clientIp, traceId, reason })
}
