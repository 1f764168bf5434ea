import { SegmentedControl } from '@mantine/core'
import { useDeferredValue, useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { addTexts } from '../../../text/texts.ts'
import type { OwnPageView } from '../../api/page-types.ts'
import { useOperation } from '../../api/use-operation.ts'
import { withParameters } from '../../pages/list-state.ts'
import { LoadState, NothingFound } from '../../pages/load-state.tsx'
import { PageHead } from '../../pages/page-head.tsx'
import { useFormats } from '../../pages/shown-value.ts'
import { SearchTools } from '../search-tools.tsx'
import {
  type BootStep,
  dependentsOf,
  matchesPluginQuery,
  type PluginFacts,
  type ProductFacts,
  pluginsOperation,
} from './plugin-facts.ts'
import { PluginRow } from './plugin-row.tsx'
import classes from './plugins-page.module.css'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

interface BootTimelineProps {
  readonly plugins: readonly PluginFacts[]
  readonly timeline: readonly BootStep[]
}

const endOf = ({ startedAtMs, durationMs }: BootStep) => startedAtMs + durationMs

/** Shows the start times of the plugins: a bar for each step, and the same numbers as text. */
function BootTimeline({ plugins, timeline }: BootTimelineProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const wholeMs = Math.max(1, ...timeline.map(endOf))
  const stepsOf = Map.groupBy(timeline, ({ plugin }) => plugin)
  const took = (id: string, phase: string) =>
    (stepsOf.get(id) ?? []).filter((step) => step.phase === phase).reduce((sum, { durationMs }) => sum + durationMs, 0)
  const slowest = Math.max(...plugins.map(({ id }) => took(id, 'setup') + took(id, 'ready')))
  return (
    <section className={classes.boot}>
      <div className={classes.legend}>
        <p>{translate('plugins.boot-total', { time: formats.count(wholeMs, 'ms') })}</p>
        <p>
          <span className={classes.mark} data-phase="setup" aria-hidden /> {translate('plugins.phase.setup')}
        </p>
        <p>
          <span className={classes.mark} data-phase="ready" aria-hidden /> {translate('plugins.phase.ready')}
        </p>
      </div>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{translate('plugins.plugin')}</th>
            <th scope="col" className={classes.wide}>
              <span className={classes.scale}>
                <span>{formats.count(0)}</span>
                <span>{formats.count(wholeMs, 'ms')}</span>
              </span>
            </th>
            <th scope="col" className={classes.number}>
              {translate('plugins.phase.setup')}
            </th>
            <th scope="col" className={classes.number}>
              {translate('plugins.phase.ready')}
            </th>
          </tr>
        </thead>
        <tbody>
          {plugins.map(({ id }) => (
            <tr key={id} data-slowest={took(id, 'setup') + took(id, 'ready') === slowest || undefined}>
              <th scope="row">{id}</th>
              <td className={classes.wide}>
                <svg className={classes.bars} viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
                  {(stepsOf.get(id) ?? []).map((step) => (
                    <rect
                      key={`${step.phase} ${step.startedAtMs}`}
                      data-phase={step.phase}
                      data-outcome={step.outcome}
                      x={Math.min(997, (step.startedAtMs / wholeMs) * 1000)}
                      width={Math.max(3, (step.durationMs / wholeMs) * 1000)}
                      y="1"
                      height="10"
                    />
                  ))}
                </svg>
              </td>
              <td className={classes.number}>{milliseconds(took(id, 'setup'))}</td>
              <td className={classes.number}>{milliseconds(took(id, 'ready'))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )

  function milliseconds(ms: number): string {
    return `${formats.count(Math.round(ms * 10) / 10)} ms`
  }
}

addTexts({ en, 'zh-CN': zhCN })

/**
 * Shows the plugins of the running product: their requirements, contributions and start times, and why each plugin is
 * loaded.
 */
export default function PluginsPage({ page }: { readonly page: OwnPageView }) {
  const { translate } = useLanguage()
  const facts = useOperation<ProductFacts>(page.operations[pluginsOperation])
  return (
    <>
      <PageHead title={page.title} lead={translate('plugins.lead')} />
      <LoadState of={facts} lines={5} height={56} />
      {facts.data !== undefined && <Plugins facts={facts.data} />}
    </>
  )
}

function Plugins({ facts: { product, plugins, timeline } }: { readonly facts: ProductFacts }) {
  const { translate } = useLanguage()
  const { search, open, view, write } = useAddress()
  const expected = useDeferredValue(search)
  const askers = useMemo(() => dependentsOf(plugins), [plugins])
  const found = useMemo(() => plugins.filter((plugin) => matchesPluginQuery(plugin, expected)), [plugins, expected])
  const stepsOf = useMemo(() => Map.groupBy(timeline, ({ plugin }) => plugin), [timeline])
  return (
    <div className={classes.page}>
      <p className={classes.product}>
        <strong>{product.name}</strong> {product.version} · {translate('plugins.count', { count: plugins.length })}
      </p>
      <SearchTools
        label={translate('plugins.search')}
        hint={translate('plugins.search-hint')}
        value={search}
        onChange={(q) => write({ q })}
        found={translate('plugins.found', { count: found.length, total: plugins.length })}
      >
        <SegmentedControl
          aria-label={translate('plugins.view')}
          value={view}
          onChange={(next) => write({ view: next === 'list' ? '' : next })}
          data={[
            { value: 'list', label: translate('plugins.list') },
            { value: 'boot', label: translate('plugins.boot') },
          ]}
        />
      </SearchTools>
      {found.length === 0 && <NothingFound onClear={() => write({ q: '' })} />}
      {found.length > 0 && view === 'boot' && <BootTimeline plugins={found} timeline={timeline} />}
      {found.length > 0 && view !== 'boot' && (
        <ul className={classes.rows}>
          {found.map((plugin) => (
            <PluginRow
              key={plugin.id}
              plugin={plugin}
              isOpen={plugin.id === open}
              askers={askers}
              steps={stepsOf.get(plugin.id) ?? []}
              onToggle={() => write({ plugin: plugin.id === open ? '' : plugin.id })}
            />
          ))}
        </ul>
      )}
    </div>
  )
}

/** Stores search, open plugin and view in the address. */
function useAddress() {
  const [params, setParams] = useSearchParams()
  const write = (change: Readonly<Record<string, string>>) =>
    setParams((last) => withParameters(last, change), { replace: true })
  return {
    search: params.get('q') ?? '',
    open: params.get('plugin') ?? '',
    view: params.get('view') === 'boot' ? 'boot' : 'list',
    write,
  }
}
