import { Button, SegmentedControl, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { useSpeech } from '../../../app/app.tsx'
import { addTexts } from '../../../text/texts.ts'
import { useApi } from '../../api/context.tsx'
import type { Operation, OwnPageView } from '../../api/page-types.ts'
import list from '../../pages/list-view.module.css'
import { LoadFailure } from '../../pages/load-failure.tsx'
import { Waiting } from '../../pages/waiting.tsx'
import tools from '../search-tools.module.css'
import { BootTimeline } from './boot-timeline.tsx'
import { askersOf, fits, type ProductFacts, pluginsOperation } from './plugin-facts.ts'
import { PluginRow } from './plugin-row.tsx'
import classes from './plugins-page.module.css'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })

/** The plugins of the running product: what each needs and brings, why it is there, and how the product started. */
export default function PluginsPage({ page }: { readonly page: OwnPageView }) {
  const { say, language } = useSpeech()
  const api = useApi()
  const facts = useQuery({
    queryKey: [pluginsOperation, {}, {}, language],
    queryFn: ({ signal }) => api.call<ProductFacts>(page.operations[pluginsOperation] as Operation, { signal }),
    placeholderData: (last) => last,
  })
  return (
    <>
      <div className={list.head}>
        <div>
          <h1 className={list.title}>{page.title}</h1>
          <p className={list.lead}>{say('plugins.lead')}</p>
        </div>
      </div>
      {facts.error !== null && <LoadFailure error={facts.error} onRetry={() => void facts.refetch()} />}
      {facts.data === undefined ? (
        facts.error === null && <Waiting lines={5} height={56} />
      ) : (
        <Plugins facts={facts.data} />
      )}
    </>
  )
}

function Plugins({ facts: { product, plugins, timeline } }: { readonly facts: ProductFacts }) {
  const { say } = useSpeech()
  const { search, open, view, write } = useAddress()
  const wanted = useDeferredValue(search)
  const askers = useMemo(() => askersOf(plugins), [plugins])
  const found = useMemo(() => plugins.filter((plugin) => fits(plugin, wanted)), [plugins, wanted])
  const stepsOf = useMemo(() => Map.groupBy(timeline, ({ plugin }) => plugin), [timeline])
  return (
    <div className={classes.page}>
      <p className={classes.product}>
        <strong>{product.name}</strong> {product.version} · {say('plugins.count', { count: plugins.length })}
      </p>
      <div className={tools.tools}>
        <TextInput
          type="search"
          className={tools.search}
          aria-label={say('plugins.search')}
          placeholder={say('plugins.search-hint')}
          leftSection={<IconSearch size={18} aria-hidden />}
          value={search}
          onChange={(event) => write({ q: event.currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
        <SegmentedControl
          aria-label={say('plugins.view')}
          value={view}
          onChange={(next) => write({ view: next === 'list' ? '' : next })}
          data={[
            { value: 'list', label: say('plugins.list') },
            { value: 'boot', label: say('plugins.boot') },
          ]}
        />
        <span className={tools.total} role="status">
          {say('plugins.found', { count: found.length, total: plugins.length })}
        </span>
      </div>
      {found.length === 0 && (
        <div className={list.empty}>
          <p>{say('admin.empty.filtered')}</p>
          <Button variant="default" size="sm" onClick={() => write({ q: '' })}>
            {say('admin.empty.clear')}
          </Button>
        </div>
      )}
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

/** Search, open plugin and view lie in the address. */
function useAddress() {
  const [params, setParams] = useSearchParams()
  const write = (change: Readonly<Record<string, string>>) =>
    setParams(
      (last) => {
        const written = new URLSearchParams(last)
        for (const [name, value] of Object.entries(change)) {
          if (value === '') written.delete(name)
          else written.set(name, value)
        }
        return written
      },
      { replace: true },
    )
  return {
    search: params.get('q') ?? '',
    open: params.get('plugin') ?? '',
    view: params.get('view') === 'boot' ? 'boot' : 'list',
    write,
  }
}
