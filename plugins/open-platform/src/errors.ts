import { PlinthError } from '@plinth/kernel'

/** Every start error of this plugin: what happened, and what to do about it. `{name}` marks a detail that is filled in. */
export const openPlatformErrors = {
  PLINTH_OPEN_PLATFORM_SCOPE: {
    text: 'The scope "{scope}" of plugin "{plugin}" cannot be declared: {reason}.',
    fix: 'Give it a code of its own: words of lower-case letters, digits and hyphens, joined by colons.',
  },
  PLINTH_OPEN_PLATFORM_ROUTE: {
    text: 'Routes cannot be opened to signed requests: {routes}.',
    fix: 'Correct the openApi() annotation, or declare the scope with the service openScopes.',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type OpenPlatformErrorCode = keyof typeof openPlatformErrors

export function openPlatformError(
  code: OpenPlatformErrorCode,
  details: Readonly<Record<string, string>> = {},
): PlinthError {
  const { text, fix } = openPlatformErrors[code]
  return new PlinthError(
    code,
    text.replace(/\{(\w+)\}/g, (whole, name: string) => details[name] ?? whole),
    fix,
  )
}
