import { knownValueOr } from '../../../../app/answer.ts'
import { useLanguage } from '../../../../app/app.tsx'
import type { ConfigItem, Effect, GroupTitles, KeyProblem, Outcome } from '../config-types.ts'
import { problemText } from '../key-row.tsx'
import { Change, SentTo } from '../value-text.tsx'
import classes from './impact.module.css'

const outcomes = ['rejected', 'requested', 'unset', 'applied', 'pendingRestart', 'shadowed', 'unchanged'] as const
const tones = {
  rejected: 'bad',
  requested: 'warn',
  unset: 'bad',
  applied: 'good',
  pendingRestart: 'warn',
  shadowed: 'warn',
  unchanged: 'quiet',
} as const

interface ImpactProps {
  readonly outcome: Outcome
  readonly items: ReadonlyMap<string, ConfigItem>
  readonly titles: GroupTitles
  /** True after the changes were saved. */
  readonly isDone: boolean
}

/** Shows the effects of changes, grouped by outcome. Rejected changes come first. */
export function Impact({ outcome: { effects, errors }, items, titles, isDone }: ImpactProps) {
  const { translate } = useLanguage()
  const groups = Map.groupBy(effects, ({ outcome }) => knownValueOr(outcomes, outcome, 'applied'))
  const features = featuresOf(effects, items, titles)
  return (
    <div className={classes.impact}>
      {features.length > 0 && (
        <section data-features>
          <h3>{translate('config.impact.features', { count: features.length })}</h3>
          <p className={classes.features}>{features.join(' · ')}</p>
        </section>
      )}
      {errors.length > 0 && (
        <section data-tone="bad">
          <h3>{translate('config.impact.faults', { count: errors.length })}</h3>
          <ul>
            {errors.map((fault) => (
              <Fault key={`${fault.field} ${fault.rule}`} fault={fault} item={items.get(fault.field)} />
            ))}
          </ul>
        </section>
      )}
      {outcomes.map((name) => {
        const members = groups.get(name)
        return members === undefined ? null : (
          <section key={name} data-tone={tones[name]} data-outcome={name}>
            <h3>{translate(isDone ? `config.done.${name}` : `config.impact.${name}`, { count: members.length })}</h3>
            <ul>
              {members.map((effect) => (
                <Line key={effect.key} effect={effect} item={items.get(effect.key)} />
              ))}
            </ul>
          </section>
        )
      })}
    </div>
  )
}

/** Returns the titles of the groups whose keys change, such as "Mail". */
function featuresOf(effects: readonly Effect[], items: ImpactProps['items'], titles: GroupTitles): readonly string[] {
  const groups = effects
    .filter(({ outcome }) => outcome !== 'unchanged')
    .flatMap(({ key }) => items.get(key)?.group ?? [])
  return [...new Set(groups)].map((group) => titles.get(group) ?? group)
}

function Fault({ fault, item }: { readonly fault: KeyProblem; readonly item: ConfigItem | undefined }) {
  return (
    <li>
      <Name name={fault.field} item={item} />
      <p>{problemText(fault.message, fault.field)}</p>
    </li>
  )
}

const Name = ({ name, item }: { readonly name: string; readonly item: ConfigItem | undefined }) => (
  <p className={classes.name}>
    <strong>{item?.displayTitle ?? name}</strong> <code>{name}</code>
  </p>
)

function Line({ effect, item }: { readonly effect: Effect; readonly item: ConfigItem | undefined }) {
  const { translate } = useLanguage()
  // If there is no stored value, the current value comes from a weaker source.
  const weaker = item?.sources.findLast(({ source }) => source !== 'database' && source !== 'command-line')?.value
  const { key, outcome, before = weaker, after, reason, destination } = effect
  // If a secret is unset, no weaker source replaces it. The reason tells the user what to do.
  const next = outcome === 'unset' ? undefined : (after ?? weaker)
  return (
    <li>
      <Name name={key} item={item} />
      <Change before={before} after={next} isSecret={item?.sensitive ?? false} />
      {destination !== undefined && <SentTo values={Object.entries(destination)} />}
      {after === undefined && outcome !== 'unset' && (
        <p className={classes.note}>{translate('config.impact.removed')}</p>
      )}
      {reason !== undefined && <p className={classes.note}>{reason}</p>}
    </li>
  )
}
