import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconArrowBackUp, IconChevronDown, IconChevronRight, IconDots, IconLock } from '@tabler/icons-react'
import { type KeyboardEvent, memo, useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { knownValueOr } from '../../../app/answer.ts'
import { useLanguage } from '../../../app/app.tsx'
import { ruleText } from '../../../field/rule-text.ts'
import { brokenSchemaRule, writtenOf } from '../../../field/schema-rules.ts'
import { ValueField } from '../../../field/value-field.tsx'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import type { Operation } from '../../api/page-types.ts'
import { useWrite } from '../../api/use-write.ts'
import { Copied } from '../../pages/copied.tsx'
import { useFormats } from '../../pages/shown-value.ts'
import { pressed } from '../../shell/shortcuts.ts'
import { toasts } from '../../shell/toasts.ts'
import { type Centre, useCentre } from './centre-context.ts'
import { draft, expectedDestinationOf, schemaOf, shownValue, useDraftChange, useProblem } from './config-draft.ts'
import { type ConfigItem, type HistoryPage, historyPage, type Outcome } from './config-types.ts'
import classes from './key-row.module.css'
import { SourceChain, sourceText, ValueText } from './value-text.tsx'

interface KeyRowProps {
  readonly item: ConfigItem
  readonly isOpen: boolean
  onToggle(key: string): void
}

/** Shows one key: its description, its field and the source of its value. */
export const KeyRow = memo(function KeyRow({ item, isOpen, onToggle }: KeyRowProps) {
  const { maySave } = useCentre()
  const { translate } = useLanguage()
  const change = useDraftChange(item.key)
  const row = useRef<HTMLLIElement>(null)
  const { key, displayTitle, displayDescription } = item
  const id = `key-${key}`
  const isEditable = item.editable && maySave
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== row.current) return
    const shortcut = pressed('configuration', event)
    if (shortcut === 'details') onToggle(key)
    if (shortcut === 'edit') {
      event.preventDefault()
      document.getElementById(id)?.focus()
    }
  }
  const Chevron = isOpen ? IconChevronDown : IconChevronRight
  return (
    <li
      ref={row}
      className={classes.row}
      data-key={key}
      data-drafted={change !== undefined || undefined}
      data-set={item.isSet || undefined}
      tabIndex={-1}
      onKeyDown={onKey}
    >
      <div className={classes.head}>
        <div className={classes.names}>
          {isEditable ? (
            <label htmlFor={id} className={classes.title}>
              {displayTitle}
            </label>
          ) : (
            <span className={classes.title}>{displayTitle}</span>
          )}
          <Marks item={item} />
        </div>
        <RowMenu item={item} isDrafted={change !== undefined} />
      </div>
      <Copied text={key}>
        <button
          type="button"
          className={classes.key}
          aria-expanded={isOpen}
          aria-label={translate('config.details-of', { key })}
          onClick={() => onToggle(key)}
        >
          <Chevron size={14} aria-hidden />
          <code>{key}</code>
        </button>
      </Copied>
      {displayDescription !== undefined && (
        <p id={`${id}-text`} className={classes.description}>
          {displayDescription}
        </p>
      )}
      {item.deprecated !== undefined && <Deprecation {...item.deprecated} />}
      {isEditable ? <EditedValue item={item} id={id} /> : <LockedValue item={item} />}
      <State item={item} />
      {isOpen && <SourceChain item={item} />}
    </li>
  )
})

function Marks({ item }: { readonly item: ConfigItem }) {
  const { translate } = useLanguage()
  const { isSet, sensitive, reload, editable, deprecated, orphaned, source = '' } = item
  return (
    <ul className={classes.marks}>
      {isSet && !orphaned && <li data-tone="info">{sourceText(translate, source)}</li>}
      {sensitive && <li>{translate('config.mark.secret')}</li>}
      {reload === 'restart' && <li>{translate('config.mark.restart')}</li>}
      {!editable && !orphaned && <li>{translate('config.mark.locked')}</li>}
      {deprecated !== undefined && <li data-tone="warn">{translate('config.mark.deprecated')}</li>}
    </ul>
  )
}

const Deprecation = ({ since, replacement, reason = '' }: NonNullable<ConfigItem['deprecated']>) => {
  const { translate } = useLanguage()
  return (
    <p className={classes.note} data-tone="warn">
      {translate('config.deprecated', { since })}{' '}
      {replacement !== undefined && translate('config.replaced', { key: replacement })} {reason}
    </p>
  )
}

/** Shows the field of a key with the errors of its input. */
function EditedValue({ item, id }: { readonly item: ConfigItem; readonly id: string }) {
  const { translate } = useLanguage()
  const { verification } = useCentre()
  const change = useDraftChange(item.key)
  const fault = useProblem(item.key)
  const schema = schemaOf(item)
  if (change?.action === 'reset') {
    const next = item.sources.findLast(({ source }) => source !== 'database')
    return (
      <p className={classes.reset}>
        {translate('config.will-reset')} <ValueText value={next?.value} isSecret={item.sensitive} />
        <Button variant="subtle" size="compact-xs" onClick={() => draft.drop([item.key])}>
          {translate('config.undo')}
        </Button>
      </p>
    )
  }
  const typed = change === undefined ? shownValue(item) : change.typed
  const broken = change && brokenSchemaRule(writtenOf(typed, schema), schema)
  const error =
    (broken && ruleText(translate, broken, item.displayRule)) ?? (fault && problemText(fault.message, item.key))
  const isSecretSet = item.sensitive && item.isSet
  return (
    <div className={classes.field}>
      <ValueField
        id={id}
        label={item.displayTitle}
        describedBy={item.displayDescription === undefined ? undefined : `${id}-text`}
        schema={schema}
        value={typed}
        error={error}
        isSecret={item.sensitive}
        placeholder={item.sensitive ? translate(isSecretSet ? 'config.secret-set' : 'config.secret-unset') : undefined}
        onChange={(next) => draft.type(item, next)}
      />
      {change !== undefined && (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={translate('config.undo-of', { key: item.key })}
          title={translate('config.undo')}
          onClick={() => draft.drop([item.key])}
        >
          <IconArrowBackUp size={18} aria-hidden />
        </ActionIcon>
      )}
      {change !== undefined && item.sensitive && verification !== undefined && (
        <Verify item={item} value={writtenOf(typed, schema)} operation={verification} />
      )}
    </div>
  )
}

/** Removes the key from the message, because the key is displayed next to it. */
export const problemText = (message: string, key: string) =>
  message.startsWith(`${key} `) ? message.slice(key.length + 1) : message

const results = ['verified', 'unverified', 'refused'] as const

interface Verification {
  readonly outcome: string
  readonly reason?: string
  readonly isStored?: boolean
}

/**
 * Compares a typed secret with the stored one, and asks the plugin that owns the key to verify it. The result is hidden
 * when the typed value changes.
 */
function Verify({ item, value, operation }: { item: ConfigItem; value: unknown; readonly operation: Operation }) {
  const { translate } = useLanguage()
  const api = useApi()
  const ask = useWrite((signal, body: object) => api.call<Verification>(operation, { body, signal }))
  const { reset } = ask
  // biome-ignore lint/correctness/useExhaustiveDependencies: the result of the last check does not apply to a changed value
  useEffect(reset, [value])
  const { data, error } = ask
  const verdict = data && knownValueOr(results, data.outcome, 'unverified')
  return (
    <>
      <Button
        variant="default"
        size="xs"
        loading={ask.isPending}
        onClick={() => ask.mutate({ key: item.key, value, ...expectedDestinationOf(item) })}
      >
        {translate('config.verify')}
      </Button>
      <span
        role="status"
        className={classes.verdict}
        data-verdict={verdict ?? (error === null ? undefined : 'refused')}
      >
        {data?.isStored !== undefined && `${translate(`config.stored-secret.${data.isStored ? 'same' : 'other'}`)} `}
        {verdict !== undefined && translate(`config.verdict.${verdict}`, { reason: data?.reason ?? '' })}
        {error instanceof CallFailure && (error.message || translate('app.failure.unreachable'))}
      </span>
    </>
  )
}

const locks = ['process', 'state', 'safety', 'orphaned', 'permission'] as const

/** Shows a value that cannot be changed on this page, with the reason. */
function LockedValue({ item }: { readonly item: ConfigItem }) {
  const { translate } = useLanguage()
  const { maySave } = useCentre()
  const { editable, env, permission = '', sensitive, source, sources, stored } = item
  const active = sources.find((one) => one.active)
  const lock = knownValueOr(locks, item.locked ?? '', 'safety')
  const why = editable ? translate('config.lock.view-only') : translate(`config.lock.${lock}`, { env, permission })
  const isElsewhere = !editable && active !== undefined && source !== 'default' && source !== 'database'
  return (
    <div className={classes.locked}>
      <p className={classes.lockedValue}>
        <IconLock size={15} aria-hidden />
        <ValueText value={item.orphaned ? stored?.value : item.value} isSecret={sensitive} />
      </p>
      <p className={classes.why}>
        {why}
        {isElsewhere &&
          ` ${translate('config.set-by', { source: sourceText(translate, active.source), place: active.place })}`}
      </p>
      {item.orphaned && maySave && <RemoveOrphan item={item} />}
    </div>
  )
}

function RemoveOrphan({ item }: { readonly item: ConfigItem }) {
  const { translate } = useLanguage()
  const change = useDraftChange(item.key)
  const fault = useProblem(item.key)
  return (
    <>
      <Button
        variant="default"
        size="xs"
        onClick={() => (change === undefined ? draft.reset(item) : draft.drop([item.key]))}
      >
        {translate(change === undefined ? 'config.remove' : 'config.undo')}
      </Button>
      {change !== undefined && <span className={classes.note}>{translate('config.will-remove')}</span>}
      {fault !== undefined && (
        <span className={classes.note} data-tone="bad">
          {problemText(fault.message, item.key)}
        </span>
      )}
    </>
  )
}

/** Shows special states of a key: its value is pending, has no effect or is invalid, or another user has changed it. */
function State({ item }: { readonly item: ConfigItem }) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const change = useDraftChange(item.key)
  const { pendingRestart, shadowed, refused, problem, value, sensitive, stored, source, sources } = item
  const isOutrun = change !== undefined && change.was.version !== item.version
  const place = sources.find(({ active }) => active)?.place
  const notes = [
    pendingRestart && { tone: 'warn', text: translate('config.pending'), value },
    shadowed && {
      tone: 'warn',
      text: translate('config.shadowed', { source: sourceText(translate, source ?? ''), place }),
      value,
    },
    refused !== undefined && { tone: 'bad', text: translate('config.refused', { reason: refused }) },
    problem !== undefined && { tone: 'bad', text: translate('config.problem', { reason: problem }) },
    isOutrun && {
      tone: 'bad',
      text: translate('config.outrun', {
        name: stored?.updatedBy ?? translate('config.fact.other-operator'),
        time: stored === undefined ? '' : formats.time(stored.updatedAt),
      }),
      value: stored?.value,
      role: 'status',
    },
  ].filter((note) => note !== false)
  return notes.map(({ tone, text, role, ...shown }) => (
    <p key={text} className={classes.note} data-tone={tone} role={role}>
      {text} {'value' in shown && <ValueText value={shown.value} isSecret={sensitive} />}
    </p>
  ))
}

/**
 * Returns the stored value before the last change of a key; its `value` is undefined if there was none. Returns
 * `undefined` if the key was never changed.
 */
async function previousValue(
  api: ReturnType<typeof useApi>,
  { history, rollback }: NonNullable<Centre['earlier']>,
  key: string,
  signal: AbortSignal,
): Promise<{ readonly value: unknown } | undefined> {
  const query = { key, size: 1, count: 'none' }
  const [last] = (await api.call<HistoryPage>(history, { query, signal })).items
  if (last === undefined) return undefined
  const body = { toVersion: last.versionBefore, keys: [key], dryRun: true }
  const { effects } = await api.call<Outcome>(rollback, { body, signal })
  return { value: effects.find((effect) => effect.key === key)?.after }
}

interface RowMenuProps {
  readonly item: ConfigItem
  readonly isDrafted: boolean
}

/** A menu of the row. It is created when the user opens it, because most menus are never opened. */
function RowMenu(props: RowMenuProps) {
  const { translate } = useLanguage()
  const [isWanted, setWanted] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (!isWanted) return
    // The menu takes the focus from the button, and returns it to the button when it is closed.
    button.current?.focus()
    setOpen(true)
  }, [isWanted])
  const { key } = props.item
  const target = (
    <ActionIcon
      ref={button}
      variant="subtle"
      color="gray"
      aria-label={translate('config.menu', { key })}
      aria-haspopup="menu"
      aria-expanded={isOpen}
      onClick={isWanted ? undefined : () => setWanted(true)}
    >
      <IconDots size={18} aria-hidden />
    </ActionIcon>
  )
  if (!isWanted) return target
  return (
    <OpenedMenu {...props} isOpen={isOpen} onChange={setOpen}>
      {target}
    </OpenedMenu>
  )
}

interface OpenedMenuProps extends RowMenuProps {
  readonly isOpen: boolean
  readonly children: React.ReactElement
  onChange(isOpen: boolean): void
}

/** The menu of a row. It continues to look for the earlier value after it is closed. */
function OpenedMenu({ isOpen, children, onChange, ...props }: OpenedMenuProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const { item } = props
  const { earlier } = useCentre()
  const putBack = useWrite(async (signal) => {
    const found = earlier && (await previousValue(api, earlier, item.key, signal))
    if (found === undefined) toasts.show(translate('config.no-previous'))
    else draft.putBack(item, found.value)
  })
  return (
    <Menu position="bottom-end" opened={isOpen} onChange={onChange}>
      <Menu.Target>{children}</Menu.Target>
      <Menu.Dropdown>
        <MenuItems {...props} onPutBack={() => putBack.mutate()} />
      </Menu.Dropdown>
    </Menu>
  )
}

function MenuItems({ item, isDrafted, onPutBack }: RowMenuProps & { onPutBack(): void }) {
  const { translate } = useLanguage()
  const { maySave, hasHistory, earlier } = useCentre()
  const { key, env, sensitive, value, stored, editable } = item
  const copy = (text: string) => () => void navigator.clipboard?.writeText(text)
  const written = typeof value === 'string' ? value : JSON.stringify(value ?? '')
  return (
    <>
      {env !== undefined && (
        <Menu.Item onClick={copy(sensitive ? `${env}=` : `${env}=${written}`)}>
          {translate('config.copy-env')}
        </Menu.Item>
      )}
      {hasHistory && (
        <Menu.Item component={Link} href={`/${historyPage}?${new URLSearchParams({ key })}`}>
          {translate('config.history-of')}
        </Menu.Item>
      )}
      {isDrafted && <Menu.Item onClick={() => draft.drop([key])}>{translate('config.undo')}</Menu.Item>}
      {earlier !== undefined && !sensitive && editable && maySave && (
        <Menu.Item onClick={onPutBack}>{translate('config.previous')}</Menu.Item>
      )}
      {stored !== undefined && editable && maySave && (
        <Menu.Item onClick={() => draft.reset(item)}>{translate('config.reset')}</Menu.Item>
      )}
    </>
  )
}
