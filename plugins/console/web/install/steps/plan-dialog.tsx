import { ActionIcon, Button } from '@mantine/core'
import { IconPlayerPlay, IconX } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Notice } from '../../app/notice.tsx'
import type { TextKey } from '../../text/texts.ts'
import type { Field, Group } from '../install-form.ts'
import { outcomeOf, type PlanEntry, type PlanResult } from '../wire.ts'
import classes from './plan-dialog.module.css'

interface PlanDialogProps {
  readonly plan: PlanResult
  readonly groups: readonly Group[]
  onClose(): void
  onInstall(): void
}

/** Preview of the changes that an installation will write. It is a native dialog, so the browser handles the focus. */
export function PlanDialog({ plan, groups, onClose, onInstall }: PlanDialogProps) {
  const { translate } = useLanguage()
  const dialog = useRef<HTMLDialogElement>(null)
  const [isStarted, setStarted] = useState(false)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  const warnings = plan.checks.filter(({ status }) => outcomeOf(status) === 'warning')
  return (
    <dialog ref={dialog} className={classes.dialog} aria-labelledby="plan-title" onClose={onClose}>
      <header className={classes.header}>
        <div>
          <h2 className={classes.title} id="plan-title">
            {translate('plan.title')}
          </h2>
          <p className={classes.lead}>{translate('plan.lead')}</p>
        </div>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={translate('plan.close')}
          onClick={() => dialog.current?.close()}
        >
          <IconX size={20} aria-hidden />
        </ActionIcon>
      </header>
      {/* This section scrolls, so it must be in the Tab order. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll this element */}
      <section className={classes.body} tabIndex={0} aria-labelledby="plan-title">
        {plan.restartRequired && (
          <Notice tone="info" title={translate('plan.restart.title')}>
            {translate('plan.restart.text')}
          </Notice>
        )}
        {warnings.length > 0 && (
          <Notice
            tone="warn"
            title={translate('plan.warnings', { count: warnings.length })}
            items={warnings.map(({ message }) => message)}
          />
        )}
        <table className={classes.table}>
          <caption className="visually-hidden">{translate('plan.title')}</caption>
          <thead>
            <tr>
              <th scope="col">{translate('plan.setting')}</th>
              <th scope="col">{translate('plan.value')}</th>
              <th scope="col">{translate('plan.target')}</th>
            </tr>
          </thead>
          <tbody>
            {plan.entries.map((entry) => (
              <EntryRow key={`${entry.target} ${entry.propertyKey}`} entry={entry} groups={groups} />
            ))}
          </tbody>
        </table>
      </section>
      <footer className={classes.footer}>
        <Button variant="default" onClick={() => dialog.current?.close()}>
          {translate('plan.back')}
        </Button>
        <Button
          loading={isStarted}
          leftSection={<IconPlayerPlay size={18} aria-hidden />}
          onClick={() => {
            setStarted(true)
            onInstall()
          }}
        >
          {translate('plan.install')}
        </Button>
      </footer>
    </dialog>
  )
}

const targetTexts: Readonly<Record<string, TextKey>> = {
  '.env': 'plan.targets.file',
  config: 'plan.targets.config',
  runtime: 'plan.targets.runtime',
}

function EntryRow({ entry, groups }: { readonly entry: PlanEntry; readonly groups: readonly Group[] }) {
  const { translate } = useLanguage()
  const { propertyKey, environmentKey, maskedValue, target, note } = entry
  const label = labelOf(groups, propertyKey)
  const targetText = targetTexts[target]
  return (
    <tr>
      <td>
        {label !== undefined && <span className={classes.setting}>{label}</span>}
        <code className={label === undefined ? undefined : classes.key}>{environmentKey || propertyKey}</code>
      </td>
      <td className={classes.value}>{maskedValue === '' ? translate('plan.empty') : maskedValue}</td>
      <td>
        <span className={classes.target} data-target={target}>
          {targetText === undefined ? target : translate(targetText)}
        </span>
        {note !== '' && <span className={classes.note}>{note}</span>}
      </td>
    </tr>
  )
}

/** Paths of form fields by key, for keys whose names do not match the path. */
const fieldsByKey: Readonly<Record<string, string>> = {
  'platform.i18n.default-locale': 'site.defaultLocale',
  'platform.database.name': 'database.database',
  'platform.database.sqlite.file': 'database.database',
}

/**
 * Returns the label of the form field that belongs to a key. For example, `site.timeZone` is stored as
 * `platform.site.time-zone`.
 */
function labelOf(groups: readonly Group[], propertyKey: string): string | undefined {
  const isOfKey = ({ path }: Field) => {
    const key = `platform.${path.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    return propertyKey === path || propertyKey === key || fieldsByKey[propertyKey] === path
  }
  return groups.flatMap(({ fields }) => fields).find(isOfKey)?.label
}
