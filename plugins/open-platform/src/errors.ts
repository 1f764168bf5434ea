import { errorTable } from '@plinth/kernel'

/** All start errors of this plugin. */
export const openPlatformError = errorTable({
  PLINTH_OPEN_PLATFORM_SCOPE: `The scope "{{scope}}" of plugin "{{plugin}}" cannot be declared: {{reason}}.
    Give it a code of its own: words of lower-case letters, digits and hyphens, joined by colons.`,
  PLINTH_OPEN_PLATFORM_ROUTE: `Routes cannot be opened to signed requests: {{routes}}.
    Correct the openApi() annotation, or declare the scope with the service openScopes.`,
})
