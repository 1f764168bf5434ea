import { errorTable } from '@plinth/kernel'

export const httpError = errorTable({
  PLINTH_HTTP_LISTEN: `Cannot listen on {{host}}:{{port}} ({{code}}).
    {{fix}}`,
  PLINTH_HTTP_REGISTRATION_ENDED: `http.{{member}}() was called after the server was built.
    Call it during setup.`,
  PLINTH_HTTP_ROUTE_REFUSED: `Route {{method}} {{path}} of plugin "{{plugin}}" {{fault}}.
    Correct the declaration of the route.`,
  PLINTH_HTTP_SCOPE_MISSING: `{{route}} of plugin "{{plugin}}" requires a permission but declares no data scope.
    Add \`scope\` to the access of the route. \`caller\`: the route reaches only rows in the data scope of the caller. \`all\`: only callers with the scope \`all\` may call it. \`none\`: the route reads and changes no rows of users or organisations.`,
  PLINTH_HTTP_ROUTE_UNKNOWN: `There is no route {{method}} {{path}}.
    List all routes with \`plinth routes --all\`.`,
  PLINTH_HTTP_SCHEMA_INVALID: `Some route schemas are invalid:{{faults}}
    Correct the schemas. Use only keywords of JSON Schema.`,
})
