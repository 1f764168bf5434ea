import { Button } from '@mantine/core'
import { IconHistory } from '@tabler/icons-react'
import { useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import { addTexts } from '../../../text/texts.ts'
import type { OwnPageView } from '../../api/page-types.ts'
import { useOperation } from '../../api/use-operation.ts'
import { useWhyNot } from '../../api/why-not.ts'
import { withParameters } from '../../pages/list-state.ts'
import { LoadState, NothingFound } from '../../pages/load-state.tsx'
import { PageHead } from '../../pages/page-head.tsx'
import { useSite } from '../../shell/site-context.ts'
import { type Centre, CentreContext, useCentre } from './centre-context.ts'
import classes from './config-centre.module.css'
import { draft, useDraft } from './config-draft.ts'
import {
  type ConfigItem,
  type GroupTitles,
  historyPage,
  type KeyList as KeyListView,
  operationIds,
  orphanedGroup,
} from './config-types.ts'
import { DraftBar } from './draft-bar.tsx'
import { useInstances } from './instances-state.tsx'
import { GroupChoice, KeyList } from './key-list.tsx'
import { ReviewDialog } from './review/review-dialog.tsx'
import { ExportButton, ImportButton } from './review/transfer.tsx'
import { hasFilter, keyQuery, SearchBar, toggledFilter } from './search-bar.tsx'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })

/** Delay in milliseconds after which the typed text is written to the address. */
const addressMs = 300

/** Shows every key of the product. The user can search and change keys, and saves the changes with a reason. */
export default function ConfigCentre({ page }: { readonly page: OwnPageView }) {
  const { translate, language } = useLanguage()
  const keys = useOperation<KeyListView>(page.operations[operationIds.keys])
  useEffect(() => () => draft.forgetSecrets(), [])
  const groups = useMemo(() => inOrder(keys.data?.groups ?? [], language), [keys.data, language])
  const items = useMemo(() => groups.flatMap((group) => group.items), [groups])
  const titles = useMemo(() => new Map(groups.map(({ group, displayTitle }) => [group, displayTitle])), [groups])
  const byKey = useMemo(() => new Map(items.map((item) => [item.key, item])), [items])
  const centre = useCentreOf(page)
  return (
    <CentreContext value={centre}>
      <PageHead title={page.title} lead={translate('config.lead')}>
        <Tools byKey={byKey} titles={titles} />
      </PageHead>
      <LoadState of={keys} lines={5} height={64} />
      {keys.data !== undefined && <Keys {...{ items, byKey, titles }} />}
    </CentreContext>
  )
}

/** Returns what the user may do on the page. */
function useCentreOf({ operations }: OwnPageView): Centre {
  const hasHistory = useSite().groups.some(({ pages }) => pages.some(({ id }) => id === historyPage))
  return useMemo(() => {
    const allowed = (name: keyof typeof operationIds) => {
      const operation = operations[operationIds[name]]
      return operation?.allowed ? operation : undefined
    }
    const [history, rollback] = [allowed('history'), allowed('rollback')]
    const earlier = history && rollback && { history, rollback }
    return { operations, maySave: allowed('save') !== undefined, verification: allowed('verify'), hasHistory, earlier }
  }, [operations, hasHistory])
}

interface KeysProps {
  readonly items: readonly ConfigItem[]
  readonly byKey: ReadonlyMap<string, ConfigItem>
  readonly titles: GroupTitles
}

function Tools({ byKey, titles }: Omit<KeysProps, 'items'>) {
  const { translate } = useLanguage()
  const { operations, hasHistory } = useCentre()
  const exported = operations[operationIds.exported]
  return (
    <>
      {hasHistory && (
        <Button
          component={Link}
          href={`/${historyPage}`}
          variant="default"
          size="sm"
          leftSection={<IconHistory size={16} aria-hidden />}
        >
          {translate('config.history')}
        </Button>
      )}
      {exported !== undefined && <ExportButton operation={exported} />}
      <ImportButton items={byKey} titles={titles} />
    </>
  )
}

function Keys({ items, byKey, titles }: KeysProps) {
  const { translate } = useLanguage()
  const { operations } = useCentre()
  const whyNot = useWhyNot()
  const address = useAddress()
  const { changes, forgotten } = useDraft()
  const [open, setOpen] = useState<'review' | 'save'>()
  const [text, setText] = useTyped(address)
  const expected = useDeferredValue(text)
  const isDraftWanted = hasFilter(expected, 'draft')
  // Only the filter `draft` depends on the draft. Without this filter, a change of the draft does not filter the keys
  // again.
  const drafted = isDraftWanted ? changes : undefined
  const query = useMemo(() => keyQuery(expected, (key) => drafted?.has(key) ?? false), [expected, drafted])
  const found = useMemo(() => items.filter(query.matches), [items, query])
  const { group, key: openKey, toggle, setGroup } = address
  const shown = useMemo(() => (group === '' ? found : found.filter((item) => item.group === group)), [found, group])
  const save = operations[operationIds.save]
  const waiting = useMemo(() => items.filter(({ pendingRestart }) => pendingRestart).length, [items])
  const broken = useMemo(
    () => items.filter(({ problem, refused }) => (problem ?? refused) !== undefined).length,
    [items],
  )
  const instances = useInstances()
  const behind = instances?.items.filter(({ upToDate }) => !upToDate).length ?? 0
  return (
    <div className={classes.page}>
      {save?.allowed === false && (
        <Notice tone="info" title={translate('config.read-only')}>
          <p>{whyNot(save)}</p>
        </Notice>
      )}
      {forgotten > 0 && (
        <Notice tone="info" title={translate('config.forgotten', { count: forgotten })}>
          <Button variant="default" size="xs" onClick={() => draft.remembered()}>
            {translate('config.understood')}
          </Button>
        </Notice>
      )}
      <div className={classes.states}>
        {waiting > 0 && (
          <StateButton tone="warn" onClick={() => setText('@pending')}>
            {translate('config.waiting', { count: waiting })}
          </StateButton>
        )}
        {broken > 0 && (
          <StateButton tone="bad" onClick={() => setText('@problem')}>
            {translate('config.broken', { count: broken })}
          </StateButton>
        )}
        {behind > 0 && (
          <p className={classes.state} data-tone="warn">
            {translate('config.behind', { count: behind, total: instances?.items.length })}
          </p>
        )}
      </div>
      <SearchBar items={items} text={text} unknown={query.unknown} count={shown.length} onChange={setText} />
      <div className={classes.columns}>
        <GroupChoice items={found} titles={titles} group={group} onChange={setGroup} />
        {shown.length === 0 ? (
          <NothingFound
            onClear={() => {
              setText('')
              setGroup('')
            }}
          />
        ) : (
          <KeyList items={shown} titles={titles} openKey={openKey} onToggle={toggle} />
        )}
      </div>
      {changes.size > 0 && (
        <DraftBar
          count={changes.size}
          isShown={isDraftWanted}
          onShow={() => setText(toggledFilter(text, 'draft'))}
          onReview={() => setOpen('review')}
          onSave={() => setOpen('save')}
        />
      )}
      {open !== undefined && (
        <ReviewDialog items={byKey} titles={titles} savesNow={open === 'save'} onClose={() => setOpen(undefined)} />
      )}
    </div>
  )
}

/** Sorts the groups by title. The group of undeclared keys comes last. */
function inOrder(groups: KeyListView['groups'], language: string): KeyListView['groups'] {
  const { compare } = new Intl.Collator(language)
  const isOrphaned = ({ group }: KeyListView['groups'][number]) => Number(group === orphanedGroup)
  return groups.toSorted((a, b) => isOrphaned(a) - isOrphaned(b) || compare(a.displayTitle, b.displayTitle))
}

function StateButton({
  tone,
  onClick,
  children,
}: {
  readonly tone: 'warn' | 'bad'
  readonly children: React.ReactNode
  onClick(): void
}) {
  return (
    <button type="button" className={classes.state} data-tone={tone} onClick={onClick}>
      {children}
    </button>
  )
}

/**
 * Stores search, group and open key in the address. The setters are stable, so that the rows are not rendered again.
 */
function useAddress() {
  const [params, setParams] = useSearchParams()
  const group = params.get('group') ?? ''
  const key = params.get('key') ?? ''
  const search = params.get('q') ?? ''
  const latest = useRef(setParams)
  useLayoutEffect(() => {
    latest.current = setParams
  })
  const [writers] = useState(() => {
    const write = (change: (last: URLSearchParams) => Readonly<Record<string, string>>) =>
      latest.current((last) => withParameters(last, change(last)), { replace: true })
    return {
      setSearch: (q: string) => write(() => ({ q })),
      setGroup: (group: string) => write(() => ({ group, key: '' })),
      toggle: (key: string) => write((last) => ({ key: last.get('key') === key ? '' : key })),
    }
  })
  return { group, key, search, ...writers }
}

/**
 * Returns the text of the search field. The text comes from the address. It is written to the address shortly after the
 * last typed letter.
 */
function useTyped({ search, setSearch }: ReturnType<typeof useAddress>) {
  const [text, setText] = useState(search)
  const [written, setWritten] = useState(search)
  if (written !== search) {
    // The address changed because the user followed a link or went back.
    setWritten(search)
    setText(search)
  }
  useEffect(() => {
    if (text === search) return
    const timer = setTimeout(() => {
      setWritten(text)
      setSearch(text)
    }, addressMs)
    return () => clearTimeout(timer)
  }, [text, search, setSearch])
  return [text, setText] as const
}
