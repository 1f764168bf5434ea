import { IconLock } from '@tabler/icons-react'
import { type FocusEvent, type KeyboardEvent, memo, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { Copied } from '../../pages/copied.tsx'
import { pressed } from '../../shell/shortcuts.ts'
import classes from './matrix-table.module.css'
import { draft, type RoleChange, type RoleChanges } from './role-draft.ts'
import { holds, type Permission, type Role, rolePage } from './roles.ts'

interface MatrixTableProps {
  readonly roles: readonly Role[]
  readonly permissions: readonly Permission[]
  readonly changes: RoleChanges
  readonly maySave: boolean
  onAsk(permission: Permission): void
}

/** Number of groups that each frame adds, so that the browser can handle input in between. */
const addedGroups = 2

/**
 * Shows permissions grouped by plugin, with a column for each role. Only one checkbox is in the Tab order. Arrow keys
 * move to the other checkboxes.
 */
export function MatrixTable({ roles, permissions, changes, maySave, onAsk }: MatrixTableProps) {
  const { translate } = useLanguage()
  const table = useRef<HTMLTableElement>(null)
  useLayoutEffect(() => {
    if (table.current?.querySelector('input[tabindex="0"]') === null) {
      const first = table.current.querySelector('input')
      if (first !== null) first.tabIndex = 0
    }
  })
  const groups = [...Map.groupBy(permissions, ({ pluginTitle }) => pluginTitle)]
  const [count, setCount] = useState(addedGroups)
  const isComplete = count >= groups.length
  useEffect(() => {
    if (isComplete) return
    const frame = requestAnimationFrame(() => setCount(count + addedGroups))
    return () => cancelAnimationFrame(frame)
  }, [count, isComplete])
  return (
    <section className={classes.scroll} aria-label={translate('roles.table')} aria-busy={!isComplete}>
      <table ref={table} className={classes.table} onKeyDown={walk} onFocus={takeOver}>
        <thead>
          <tr>
            <th scope="col">{translate('roles.permission')}</th>
            {roles.map((role) => (
              <th key={role.id} scope="col" className={classes.role} data-changed={changes.has(role.id) || undefined}>
                <Link href={`/${rolePage}/${role.id}`}>{role.name}</Link>
                <Copied text={role.code}>
                  <code>{role.code}</code>
                </Copied>
                {role.builtIn && (
                  <span className={classes.locked} title={translate('roles.locked-why')}>
                    <IconLock size={14} aria-hidden /> {translate('roles.locked')}
                  </span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        {groups.slice(0, count).map(([title, members]) => (
          <tbody key={title}>
            <tr className={classes.group}>
              <th scope="rowgroup" colSpan={roles.length + 1}>
                <span>{title}</span>
              </th>
            </tr>
            {members.map((permission) => (
              <tr key={permission.code}>
                <th scope="row">
                  <button type="button" className={classes.permission} onClick={() => onAsk(permission)}>
                    {permission.name}
                  </button>
                  <Copied text={permission.code}>
                    <code>{permission.code}</code>
                  </Copied>
                  {!permission.loaded && <span className={classes.gone}>{translate('roles.gone')}</span>}
                </th>
                {roles.map((role) => (
                  <Cell
                    key={role.id}
                    {...{ role, permission }}
                    change={changes.get(role.id)}
                    isLocked={role.builtIn || !maySave}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
      {roles.some(({ builtIn }) => builtIn) && <p className={classes.why}>{translate('roles.locked-why')}</p>}
    </section>
  )
}

interface CellProps {
  readonly role: Role
  readonly permission: Permission
  readonly change: RoleChange | undefined
  readonly isLocked: boolean
}

const Cell = memo(
  function Cell({ role, permission: { code, name, loaded }, change, isLocked }: CellProps) {
    const wanted = change?.wanted.get(code)
    const isHeld = wanted ?? holds(change?.was ?? role, code)
    // A permission whose plugin is not loaded can be revoked, but not granted.
    const isShut = isLocked || (!loaded && !(change?.was ?? role).permissions.includes(code))
    return (
      <td className={classes.cell} data-change={wanted === undefined ? undefined : wanted ? 'given' : 'taken'}>
        <label>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`${name} · ${role.name}`}
            aria-disabled={isShut}
            data-role={role.id}
            checked={isHeld}
            onChange={(event) => {
              if (!isShut) draft.want(role, code, event.currentTarget.checked)
            }}
          />
        </label>
      </td>
    )
  },
  (a, b) =>
    a.role === b.role &&
    a.permission === b.permission &&
    a.isLocked === b.isLocked &&
    a.change?.was === b.change?.was &&
    a.change?.wanted.get(a.permission.code) === b.change?.wanted.get(b.permission.code),
)

/** Makes the focused checkbox the one in the Tab order, so that Tab returns to it. */
function takeOver({ target, currentTarget }: FocusEvent<HTMLElement>): void {
  if (!(target instanceof HTMLInputElement)) return
  for (const input of currentTarget.querySelectorAll<HTMLInputElement>('input[tabindex="0"]')) input.tabIndex = -1
  target.tabIndex = 0
}

/** Arrow keys move between checkboxes. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  if (!(event.target instanceof HTMLInputElement)) return
  const shortcut = pressed('matrix', event)
  if (shortcut === undefined) return
  event.preventDefault()
  const { role } = event.target.dataset
  const isBeside = shortcut === 'left' || shortcut === 'right'
  const line = isBeside
    ? [...(event.target.closest('tr')?.querySelectorAll<HTMLInputElement>('input') ?? [])]
    : [...event.currentTarget.querySelectorAll<HTMLInputElement>(`input[data-role="${role}"]`)]
  line[line.indexOf(event.target) + (shortcut === 'left' || shortcut === 'up' ? -1 : 1)]?.focus()
}
