import { errorTable } from '@plinth/kernel'

/** All coded errors of this plugin. */
export const httpError = errorTable({
  PLINTH_HTTP_CLIENT_UNWRITABLE: `Cannot write the client to {{file}}: {{reason}}.
    Specify a folder that this user can write.`,
  PLINTH_HTTP_LISTEN: `Cannot listen on {{host}}:{{port}} ({{code}}).
    {{fix}}`,
  PLINTH_HTTP_OPENAPI_UNREADABLE: `{{file}} is no API description: {{reason}}.
    Name a file that \`plinth openapi\` wrote.`,
  PLINTH_HTTP_REGISTRATION_ENDED: `http.{{member}}() was called after the server had been built.
    Call it during set-up.`,
  PLINTH_HTTP_ROUTE_REFUSED: `Route {{method}} {{path}} of plugin "{{plugin}}" {{fault}}.
    Correct the declaration of the route.`,
  PLINTH_HTTP_SCOPE_MISSING: `{{route}} of plugin "{{plugin}}" needs a permission and declares no data scope.
    Add \`scope\` to the access of the route: \`caller\` restricts it to the rows in the scope of the caller, \`all\` admits only callers with the scope \`all\`, \`none\` reads and changes no row of a user or an organisation.`,
  PLINTH_HTTP_ROUTE_UNKNOWN: `There is no route {{method}} {{path}}.
    List those that there are with \`plinth routes --all\`.`,
  PLINTH_HTTP_SCHEMA_INVALID: `Schemas of routes cannot be used:{{faults}}
    Correct the schemas; only what JSON Schema knows may stand in them.`,
})
