import { Link } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import type { Operation, OwnPageView } from '../../api/page-types.ts'
import { useOperation } from '../../api/use-operation.ts'
import { useWhyNot } from '../../api/why-not.ts'
import { Copied } from '../../pages/copied.tsx'
import dialog from '../../pages/forms/dialog.module.css'
import { Dialog } from '../../pages/forms/dialog.tsx'
import { LoadState } from '../../pages/load-state.tsx'
import type { ProductFacts } from '../product-plugins/plugin-facts.ts'
import classes from './permission-dialog.module.css'
import { holds, operationIds, type Permission, type Role, type UsersOfRole, usersPage } from './roles.ts'

interface PermissionDialogProps {
  readonly page: OwnPageView
  readonly permission: Permission
  readonly roles: readonly Role[]
  onClose(): void
}

/** Dialog that shows the routes of a permission, and the roles that have it. */
export function PermissionDialog({ page, permission, roles, onClose }: PermissionDialogProps) {
  const { translate } = useLanguage()
  const { code, name, description, pluginTitle } = permission
  const holders = roles.filter((role) => holds(role, code))
  return (
    <Dialog onClose={onClose} title={name}>
      <div className={dialog.form}>
        <p>
          <Copied text={code}>
            <code className={classes.code}>{code}</code>
          </Copied>{' '}
          · {pluginTitle}
        </p>
        {description !== null && <p>{description}</p>}
        <section>
          <h2 className={classes.heading}>{translate('roles.opens')}</h2>
          <Opened operation={page.operations[operationIds.plugins]} code={code} />
        </section>
        <section>
          <h2 className={classes.heading}>{translate('roles.held-by')}</h2>
          {holders.length === 0 && <p className={classes.quiet}>{translate('roles.held-by-none')}</p>}
          <ul className={classes.lines}>
            {holders.map((role) => (
              <Holder key={role.id} role={role} operation={page.operations[operationIds.users]} />
            ))}
          </ul>
        </section>
      </div>
    </Dialog>
  )
}

/** Shows the routes that require the permission. */
function Opened({ operation, code }: { readonly operation: Operation | undefined; readonly code: string }) {
  const { translate } = useLanguage()
  const whyNot = useWhyNot()
  const facts = useOperation<ProductFacts>(operation, {
    enabled: operation?.allowed === true,
    staleTime: 5 * 60_000,
  })
  if (operation?.allowed !== true) {
    return <p className={classes.quiet}>{whyNot(operation)}</p>
  }
  if (facts.data === undefined) return <LoadState of={facts} />
  const routes = facts.data.plugins.flatMap((plugin) => plugin.routes.filter(({ permission }) => permission === code))
  if (routes.length === 0) return <p className={classes.quiet}>{translate('roles.opens-nothing')}</p>
  return (
    <ul className={classes.lines}>
      {routes.map(({ method, path, summary }) => (
        <li key={`${method} ${path}`}>
          {summary}
          <code className={classes.code}>
            {method} {path}
          </code>
        </li>
      ))}
    </ul>
  )
}

/** Maximum number of users that are shown by name. */
const shownUsers = 5

/** Shows a role with the number of its users, the names of the first ones, and a link to all. */
function Holder({ role, operation }: { readonly role: Role; readonly operation: Operation | undefined }) {
  const { translate } = useLanguage()
  const users = useOperation<UsersOfRole>(operation, {
    query: { roleId: role.id, size: shownUsers, count: 'capped' },
    enabled: operation?.allowed === true,
  })
  const total = users.data?.total ?? undefined
  const isMore = users.data?.counted === 'capped'
  const names = users.data?.items.map(({ username }) => username) ?? []
  return (
    <li>
      {role.name} <code className={classes.code}>{role.code}</code>
      {operation?.allowed === true && total !== undefined && (
        <Link href={`/${usersPage}?${new URLSearchParams({ roleId: String(role.id) })}`}>
          {translate(isMore ? 'roles.users-at-least' : 'roles.users', { count: total })}
        </Link>
      )}
      {names.length > 0 && (
        <span className={classes.names}>
          {names.join(', ')}
          {(total ?? 0) > names.length && ' …'}
        </span>
      )}
    </li>
  )
}
