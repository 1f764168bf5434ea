import { IconChevronRight } from '@tabler/icons-react'
import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { Link } from 'wouter'
import { knownValueOr } from '../../../app/answer.ts'
import { useLanguage } from '../../../app/app.tsx'
import { useFormats } from '../../pages/shown-value.ts'
import { useSite } from '../../shell/site-context.ts'
import type { BootStep, DependentPlugin, PluginFacts, PluginLink } from './plugin-facts.ts'
import classes from './plugin-row.module.css'
import { RouteTable } from './route-table.tsx'

const states = ['starting', 'ready', 'draining', 'stopped', 'failed'] as const

interface PluginRowProps {
  readonly plugin: PluginFacts
  readonly isOpen: boolean
  readonly askers: ReadonlyMap<string, readonly DependentPlugin[]>
  readonly steps: readonly BootStep[]
  onToggle(): void
}

/** Shows one plugin as a row. When the row is open, it shows all declarations of the plugin. */
export function PluginRow({ plugin, isOpen, askers, steps, onToggle }: PluginRowProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const row = useRef<HTMLLIElement>(null)
  useLayoutEffect(() => {
    const { top = 0, bottom = 0 } = (isOpen && row.current?.getBoundingClientRect()) || {}
    if (top > innerHeight - 80 || bottom < 0) row.current?.scrollIntoView({ block: 'start' })
  }, [isOpen])
  const { id, version, state, keys, routes, requires, provides } = plugin
  const tookMs = steps.reduce((sum, { durationMs }) => sum + durationMs, 0)
  return (
    <li ref={row} className={classes.row} data-plugin={id}>
      <h2 className={classes.heading}>
        <button type="button" className={classes.head} aria-expanded={isOpen} onClick={onToggle}>
          <IconChevronRight size={18} className={classes.chevron} aria-hidden />
          <span className={classes.name}>{id}</span>
          <span className={classes.version}>{version}</span>
          <span className={classes.state} data-state={state}>
            {translate(`plugins.state.${knownValueOr(states, state, 'ready')}`)}
          </span>
          <span className={classes.facts}>
            {[
              translate('plugins.needs', { count: requires.length }),
              translate('plugins.brings', { count: provides.length }),
              ...(keys.length > 0 ? [translate('plugins.keys-count', { count: keys.length })] : []),
              ...(routes.length > 0 ? [translate('plugins.routes-count', { count: routes.length })] : []),
              formats.count(tookMs, 'ms'),
            ].join(' · ')}
          </span>
        </button>
      </h2>
      {isOpen && <Details plugin={plugin} askers={askers} />}
    </li>
  )
}

const centre = 'system-config.centre'

function Details({ plugin, askers }: Pick<PluginRowProps, 'plugin' | 'askers'>) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const hasCentre = useSite().groups.some(({ pages }) => pages.some(({ id }) => id === centre))
  const { id, requires, provides, extensionPoints, contributes, keys, permissions, routes, tasks } = plugin
  const why = [...provides, ...extensionPoints].map((name) => ({ name, users: askers.get(name) ?? [] }))
  return (
    <div className={classes.details}>
      <div className={classes.pair}>
        <Part title={translate('plugins.requires')} isEmpty={requires.length === 0}>
          <Links links={requires} />
        </Part>
        <Part title={translate('plugins.why')} isEmpty={why.length === 0} empty={translate('plugins.why-nothing')}>
          <dl className={classes.why}>
            {why.map(({ name, users }) => (
              <div key={name}>
                <dt>
                  <code>{name}</code>
                </dt>
                <dd>{users.length === 0 ? <Quiet>{translate('plugins.nobody')}</Quiet> : <Users users={users} />}</dd>
              </div>
            ))}
          </dl>
        </Part>
        {contributes.length > 0 && (
          <Part title={translate('plugins.contributes')}>
            <Links links={contributes} />
          </Part>
        )}
        {permissions.length > 0 && (
          <Part title={translate('plugins.permissions')}>
            <ul className={classes.lines}>
              {permissions.map(({ code, name }) => (
                <li key={code}>
                  {name} <code>{code}</code>
                </li>
              ))}
            </ul>
          </Part>
        )}
        {tasks.length > 0 && (
          <Part title={translate('plugins.tasks')}>
            <ul className={classes.lines}>
              {tasks.map(({ kind, name, title, delayMs, delayKey }) => (
                <li key={`${kind} ${name}`}>
                  {title} <code>{name}</code>{' '}
                  <Quiet>
                    {kind === 'install' && translate('plugins.task-install')}
                    {delayMs !== null && translate('plugins.task-every', { time: formats.count(delayMs, 'ms') })}
                    {delayKey !== null && translate('plugins.task-key', { key: delayKey })}
                  </Quiet>
                </li>
              ))}
            </ul>
          </Part>
        )}
      </div>
      {keys.length > 0 && (
        <Part title={translate('plugins.keys')}>
          {hasCentre && (
            <p className={classes.all}>
              <Link href={`/${centre}?${new URLSearchParams({ q: `@plugin:${id}` })}`}>
                {translate('plugins.keys-open')}
              </Link>
            </p>
          )}
          <ul className={classes.keys}>
            {keys.map((key) => (
              <li key={key}>
                {hasCentre ? (
                  <Link href={`/${centre}?${new URLSearchParams({ q: `@plugin:${id}`, key })}`}>{key}</Link>
                ) : (
                  <code>{key}</code>
                )}
              </li>
            ))}
          </ul>
        </Part>
      )}
      {routes.length > 0 && (
        <Part title={translate('plugins.routes')}>
          <RouteTable routes={routes} label={translate('plugins.routes-of', { plugin: id })} />
        </Part>
      )}
    </div>
  )
}

interface PartProps {
  readonly title: string
  readonly isEmpty?: boolean
  readonly empty?: string
  readonly children: ReactNode
}

function Part({ title, isEmpty = false, empty, children }: PartProps) {
  const { translate } = useLanguage()
  return (
    <section className={classes.part}>
      <h3>{title}</h3>
      {isEmpty ? <Quiet>{empty ?? translate('plugins.nothing')}</Quiet> : children}
    </section>
  )
}

const Quiet = ({ children }: { readonly children: ReactNode }) => <span className={classes.quiet}>{children}</span>

/** Shows services and extension points with links to the plugins that provide them. */
function Links({ links }: { readonly links: readonly PluginLink[] }) {
  const { translate } = useLanguage()
  return (
    <ul className={classes.lines}>
      {links.map(({ id, by, optional }) => (
        <li key={id}>
          <code>{id}</code>{' '}
          <Quiet>
            {by === null && translate('plugins.absent')}
            {by === 'kernel' && translate('plugins.by-kernel')}
          </Quiet>
          {by !== null && by !== 'kernel' && (
            <>
              ← <ToPlugin id={by} />
            </>
          )}
          {optional && by !== null && <Quiet> {translate('plugins.optional')}</Quiet>}
        </li>
      ))}
    </ul>
  )
}

const Users = ({ users }: { readonly users: readonly DependentPlugin[] }) => (
  <ul className={classes.users}>
    {users.map(({ plugin, optional }) => (
      <li key={plugin} data-optional={optional || undefined}>
        <ToPlugin id={plugin} />
      </li>
    ))}
  </ul>
)

const ToPlugin = ({ id }: { readonly id: string }) => (
  <Link href={`/console.plugins?${new URLSearchParams({ plugin: id })}`}>{id}</Link>
)
