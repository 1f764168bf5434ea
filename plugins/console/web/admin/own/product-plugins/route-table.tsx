import { knownValueOr } from '../../../app/answer.ts'
import { useLanguage } from '../../../app/app.tsx'
import type { RouteFacts } from './plugin-facts.ts'
import classes from './route-table.module.css'

const accesses = ['public', 'user', 'signed', 'permission'] as const

/** Shows routes with their access rules and rate limits. */
export function RouteTable({ routes, label }: { readonly routes: readonly RouteFacts[]; readonly label: string }) {
  const { translate } = useLanguage()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll this element
    <section className={classes.scroll} aria-label={label} tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{translate('plugins.route.method')}</th>
            <th scope="col">{translate('plugins.route.path')}</th>
            <th scope="col">{translate('plugins.route.access')}</th>
            <th scope="col">{translate('plugins.route.limit')}</th>
          </tr>
        </thead>
        <tbody>
          {routes.map((route) => (
            <tr key={`${route.method} ${route.path}`}>
              <td className={classes.method}>{route.method}</td>
              <td>
                <code>{route.path}</code>
                <p className={classes.summary}>{route.summary}</p>
              </td>
              <td>
                {route.permission === null ? (
                  translate(`plugins.access.${knownValueOr(accesses, route.access, 'user')}`)
                ) : (
                  <code>{route.permission}</code>
                )}
              </td>
              <td>
                <Limit limit={route.limit} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Limit({ limit }: Pick<RouteFacts, 'limit'>) {
  const { translate } = useLanguage()
  if (limit === null) return <span className={classes.summary}>{translate('plugins.limit.none')}</span>
  const { maxAttempts, windowSeconds, keyStrategy, shadow } = limit
  const usual = translate('plugins.limit.default')
  return (
    <>
      {translate('plugins.limit.some', { count: maxAttempts ?? usual, seconds: windowSeconds ?? usual })}
      {keyStrategy !== null && <p className={classes.summary}>{keyStrategy}</p>}
      {shadow && <p className={classes.summary}>{translate('plugins.limit.shadow')}</p>}
    </>
  )
}
