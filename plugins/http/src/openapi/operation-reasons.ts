import type { Plugin } from '@plinth/kernel'
import type { BusinessErrorsDeclaration } from '@plinth/kernel/host'
import type { RegisteredRoute, RouteRegistry } from '../routes/route-registry.ts'

export type Reasons = Readonly<Record<string, string>>

const sorted = (reasons: Iterable<readonly [string, string]>): Reasons =>
  Object.fromEntries([...reasons].sort(([a], [b]) => (a < b ? -1 : 1)))

export const reasonsOf = (businessErrors: readonly BusinessErrorsDeclaration[] = []): Reasons =>
  sorted(
    businessErrors.flatMap(({ area, codes }) =>
      Object.entries(codes).map(([name, code]) => [`${area}.${name}`, code] as const),
    ),
  )

const openMark = '*'
const inputReason = ['http.invalid-input', '400'] as const
const identityReason = ['access.identity-missing', '401'] as const

export interface OperationReasons {
  readonly reasons: Reasons
  /** True if the operation may also return reasons that are not known in advance. */
  readonly isOpen: boolean
}

/**
 * Returns a function that collects the reasons of a route: of its handler, guards and wrappers, and of validation.
 * Reasons of plugins that are not loaded are omitted.
 */
export function reasonsByRoute(
  plugins: readonly Pick<Plugin, 'id' | 'businessErrors'>[],
  { guards, wrappers, ownerOf }: Pick<RouteRegistry, 'guards' | 'wrappers' | 'ownerOf'>,
): (route: RegisteredRoute) => OperationReasons {
  const codes = reasonsOf(plugins.flatMap(({ businessErrors = [] }) => businessErrors))
  const declaredBy = (id: string | undefined) =>
    Object.keys(reasonsOf(plugins.find((plugin) => plugin.id === id)?.businessErrors))
  return ({ kind, info, declaration }) => {
    const { params, query, body } = declaration.request ?? {}
    const steps = [...guards, ...(kind === 'envelope' ? wrappers : [])].filter(
      (step) => step.forRoute(info) !== undefined,
    )
    const listed = [
      ...(declaration.reasons ?? declaredBy(info.plugin)),
      ...steps.flatMap((step) => step.reasons ?? declaredBy(ownerOf(step))),
    ]
    const known = [...new Set(listed)].flatMap((reason): [string, string][] => {
      const code = codes[reason]
      return code === undefined ? [] : [[reason, code]]
    })
    const hasInput = [params, query, body].some((schema) => schema !== undefined)
    return {
      reasons: sorted([
        ...known,
        ...(hasInput || kind === 'envelope' ? [inputReason] : []),
        ...(info.access === 'public' ? [] : [identityReason]),
      ]),
      isOpen: declaration.reasons === undefined || listed.includes(openMark),
    }
  }
}
