import { errorTable } from '@plinth/kernel'

/** All start errors of this plugin. */
export const openPlatformError = errorTable({
  PLINTH_OPEN_PLATFORM_SCOPE: `The scope "{{scope}}" of plugin "{{plugin}}" cannot be declared: {{reason}}.
    Choose a unique code of lower-case words with digits and hyphens, joined by colons.`,
  PLINTH_OPEN_PLATFORM_ROUTE: `Some routes cannot accept signed requests: {{routes}}.
    Correct the openApi() annotation, or declare the scope with the service openScopes.`,
})
