import { BusinessError, type Tracer } from '@plinth/kernel'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { GuardHandler, RouteGuard, RouteGuardOrWrapper, RouteWrapper } from '../contract.ts'
import type { RouteInfo } from './declaration.ts'

/** Members of a signed-in user that decide which operators the user may see. */
export interface Viewer {
  readonly userId: number
  readonly username: string
  readonly dataScope: 'self' | 'org' | 'all'
}

/**
 * Returns the operator who changed a row, or null if the caller may not see the operator. Use it for rows that all
 * callers see (scope `none`). Callers with a smaller data scope than `all` see only themselves (decision F1).
 *
 * @param operator user name or user id
 */
export function operatorVisibleTo<T extends string | number>(
  request: { readonly principal?: Viewer | undefined },
  operator: T | null | undefined,
): T | null {
  const { principal } = request
  if (operator == null || principal === undefined) return null
  const isVisible = principal.dataScope === 'all' || operator === principal.username || operator === principal.userId
  return isVisible ? operator : null
}

interface RouteHooks {
  /** Guards of the stages `gate` and `access`, which run before the body is read. */
  readonly onRequest: readonly GuardHandler[]
  /** Guards of the stage `signature`, which run before validation. */
  readonly preValidation: readonly GuardHandler[]
  /** Guards of the stage `quota`, which run after validation. */
  readonly preHandler: readonly GuardHandler[]
}

/** Rejects all requests to a route that is not public and has no guard that identifies callers (decision A1). */
const rejectUnknownCaller: GuardHandler = () => {
  throw new BusinessError('401', 'You are not logged in.', {
    reason: 'access.identity-missing',
    messageKey: 'messages.http.identity-missing',
  })
}

/** Returns the guards of a route by stage. Called once per route before the server listens. */
export function hooksFor(route: RouteInfo, guards: readonly RouteGuard[], tracer?: Tracer): RouteHooks {
  const of = (stage: RouteGuard['stage']) =>
    guards
      .filter((guard) => guard.stage === stage)
      .flatMap((guard) => {
        const handler = guard.forRoute(route)
        return handler === undefined ? [] : tracer === undefined ? handler : inGuardSpan(tracer, guard, handler)
      })
  const access = of('access')
  const preValidation = of('signature')
  const vouching = route.access === 'signed' ? preValidation : access
  const isOpen = route.access === 'public' || vouching.length > 0
  return {
    onRequest: [...of('gate'), ...(isOpen ? access : [rejectUnknownCaller])],
    preValidation,
    preHandler: of('quota'),
  }
}

/** Returns the guard with a span around each of its calls. */
const inGuardSpan =
  (tracer: Tracer, { name, stage }: RouteGuard, handler: GuardHandler): GuardHandler =>
  (request, reply) =>
    tracer.span(`guard ${name}`, { attributes: { 'plinth.stage': stage } }, () => handler(request, reply))

const stages = ['gate', 'access', 'signature', 'quota'] as const

/** Returns guards and wrappers in the order in which a request passes them. */
export function guardsAndWrappersOf(
  route: RouteInfo,
  { guards, wrappers }: { readonly guards: readonly RouteGuard[]; readonly wrappers: readonly RouteWrapper[] },
): readonly RouteGuardOrWrapper[] {
  const taking = <T extends { forRoute(route: RouteInfo): unknown }>(all: readonly T[]) =>
    all.filter((one) => one.forRoute(route) !== undefined)
  return [
    ...stages.flatMap((stage) =>
      taking(guards.filter((guard) => guard.stage === stage)).map(({ name }) => ({ stage, name })),
    ),
    ...taking(wrappers).map(({ name }) => ({ stage: 'wrapper', name }) as const),
  ]
}

/**
 * Runs guards one after another as one Fastify hook. A guard that throws or sends a reply ends the request. A
 * synchronous guard creates no promise.
 */
export function runGuardsInOrder(guards: readonly GuardHandler[]): onRequestHookHandler {
  return (request, reply, done) => runFrom(guards, 0, request, reply, done)
}

type Done = (error?: Error) => void

function runFrom(
  guards: readonly GuardHandler[],
  start: number,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
) {
  for (let index = start; index < guards.length; index++) {
    if (reply.sent) return
    let pending: void | Promise<void>
    try {
      pending = guards[index]?.(request, reply)
    } catch (error) {
      reject(error, done)
      return
    }
    if (pending !== undefined) {
      pending.then(
        () => runFrom(guards, index + 1, request, reply, done),
        (error) => reject(error, done),
      )
      return
    }
  }
  if (!reply.sent) done()
}

/**
 * Calls `done` with an error in any case. After `throw undefined`, Fastify would otherwise continue with the request.
 */
function reject(reason: unknown, done: Done): void {
  done(reason instanceof Error ? reason : new Error('A guard threw what is no error', { cause: reason }))
}
