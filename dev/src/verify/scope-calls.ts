import type { RunningProduct } from '@plinth/kernel/host'
import { callRoutes, createOperator, routesOf } from './route-calls.ts'
import { seedRows } from './seeded-rows.ts'

/** Methods that change a row. Its id is in the path, so that the caller names a row of another user. */
const writes = ['POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Calls each route with the scope `caller` as an operator with the scope `self` and as one with the scope `all`, and
 * returns the routes with the same result for both. The rows are invented, so their owners are other users. A route that
 * shows no row to the operator with the scope `all` is not compared.
 *
 * @param tables tables of the plugin
 */
export async function findIgnoredScopes(
  running: RunningProduct,
  plugin: string,
  tables: ReadonlySet<string>,
): Promise<readonly string[]> {
  const routes = routesOf(running, plugin).filter(
    ({ access }) => typeof access === 'object' && access.scope === 'caller',
  )
  if (routes.length === 0) return []
  const permissions = [...new Set(routes.map(({ access }) => Object(access).permission as string))]
  const [all, self] = [
    await createOperator(running, 'all', permissions),
    await createOperator(running, 'self', permissions),
  ]
  if (all === undefined || self === undefined) return []
  const reads = routes.filter(({ method }) => method === 'GET')
  const changes = routes.filter(({ method, path }) => writes.includes(method) && path.includes(':'))
  const empty = await callRoutes(running, reads, { token: all })
  await seedRows(running, tables)
  const [seen, seenBySelf] = [
    await callRoutes(running, reads, { token: all }),
    await callRoutes(running, reads, { token: self }),
  ]
  const shown = seen.filter(
    ({ status, text }, index) => status === 200 && text !== empty[index]?.text && text === seenBySelf[index]?.text,
  )
  const changedBySelf = await callRoutes(running, changes, { token: self, id: '1' })
  const changed = await callRoutes(running, changes, { token: all, id: '2' })
  const altered = changed.filter(({ status }, index) => status === 200 && changedBySelf[index]?.status === 200)
  return [...shown, ...altered].map(({ route }) => route)
}
