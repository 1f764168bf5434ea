import { routesWith, Type } from '@plinth/http'
import { openApi } from './contract.ts'
import { requireOpenCaller } from './signature/signature-guards.ts'

const callerMembers = {
  appKey: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String(), { description: 'Scopes that the application holds.' }),
}

const facts = (request: Parameters<typeof requireOpenCaller>[0]) => {
  const { appKey, name, scopes } = requireOpenCaller(request)
  return { appKey, name, scopes: [...scopes].sort() }
}
const shared = { access: 'signed', annotations: [openApi({ scopes: [] })] } as const

const { route } = routesWith()

/** Two routes without a scope with which a third party tests its signature: one with a query, one with a body. */
export const openRoutes = [
  route({
    ...shared,
    method: 'GET',
    path: '/api/v1/open/whoami',
    summary: 'Which application signed this request',
    response: Type.Object(callerMembers),
    handler: facts,
  }),
  route({
    ...shared,
    method: 'POST',
    path: '/api/v1/open/echo',
    summary: 'Answers the message of a signed request',
    request: { body: Type.Object({ message: Type.String({ maxLength: 10_000 }) }) },
    response: Type.Object({ ...callerMembers, message: Type.String() }),
    handler: (request) => ({ ...facts(request), message: request.body.message }),
  }),
]
