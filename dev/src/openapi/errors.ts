import { errorTable } from '@plinth/kernel'

/** Errors of `plinth openapi`. */
export const openApiError = errorTable({
  PLINTH_HTTP_CLIENT_UNWRITABLE: `Cannot write the client to {{file}}: {{reason}}.
    Specify a folder that this user can write.`,
  PLINTH_HTTP_OPENAPI_UNREADABLE: `{{file}} is not a valid API description: {{reason}}.
    Pass a file that \`plinth openapi\` has written.`,
})
