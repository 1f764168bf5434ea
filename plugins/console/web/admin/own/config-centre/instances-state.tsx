import { useQuery } from '@tanstack/react-query'
import { useLanguage } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import type { Operation } from '../../api/page-types.ts'
import { useCentre } from './centre-context.ts'
import { type Instance, type Instances, operationIds } from './config-types.ts'
import classes from './instances-state.module.css'

const lookMs = 1_000
/** Maximum number of polls. An instance that has not responded by then reports itself when it returns. */
const maxChecks = 30

/** Returns the running instances. They are polled every second until all of them run the version. */
export function useInstances(version?: number) {
  const api = useApi()
  const operation = useCentre().operations[operationIds.instances]
  return useQuery({
    queryKey: [operation?.operation, {}, {}, version],
    queryFn: ({ signal }) => api.call<Instances>(operation as Operation, { signal }),
    enabled: operation?.allowed === true,
    refetchInterval: ({ state: { data, dataUpdateCount } }) => {
      if (version === undefined || dataUpdateCount > maxChecks) return false
      return data?.items.every((one) => one.version >= version) ? false : lookMs
    },
  }).data
}

/** Shows how many instances run a saved version, for example "Applied on 2 of 3". */
export function InstancesState({ version, keys }: { readonly version: number; readonly keys: readonly string[] }) {
  const { translate } = useLanguage()
  const instances = useInstances(version)
  if (instances === undefined || instances.items.length === 0) return null
  const has = (one: Instance) => one.version >= version && !one.refused.some(({ key }) => keys.includes(key))
  const count = instances.items.filter(has).length
  return (
    <div className={classes.state} role="status">
      <p>
        <strong>{translate('config.instances.applied', { count, total: instances.items.length })}</strong>
      </p>
      <ul>
        {instances.items.map((one) => {
          const refused = one.refused.filter(({ key }) => keys.includes(key))
          const waits = one.pendingRestart.filter((key) => keys.includes(key))
          return (
            <li key={one.id} data-state={has(one) ? 'there' : 'missing'}>
              <code>{`${one.host} · ${one.pid}`}</code>
              {one.version < version && translate('config.instances.behind', { version: one.version })}
              {refused.map(({ key, reason }) => (
                <span key={key}>{translate('config.instances.refused', { key, reason })}</span>
              ))}
              {one.version >= version &&
                waits.length > 0 &&
                translate('config.instances.waits', { count: waits.length })}
              {has(one) && waits.length === 0 && translate('config.instances.there')}
            </li>
          )
        })}
      </ul>
    </div>
  )
}
