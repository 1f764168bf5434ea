import { useLanguage } from '../../../app/app.tsx'
import { LoadFailure, Waiting } from '../../pages/load-state.tsx'
import { AudienceText } from './audience-text.tsx'
import { ChannelPreview } from './channel-preview.tsx'
import classes from './compose.module.css'
import type { useAudience } from './use-audience.ts'
import type { usePreviews } from './use-previews.ts'

interface ChannelListProps {
  readonly previews: ReturnType<typeof usePreviews>['previews']
  readonly audience: ReturnType<typeof useAudience>
  /** True if the message has no text yet. */
  readonly isEmpty: boolean
  /** Returns the name of a channel. */
  nameOf(channel: string): string
}

/** Shows for each channel who gets the message, and how it looks. */
export function ChannelList({ previews, audience, isEmpty, nameOf }: ChannelListProps) {
  const { translate, language } = useLanguage()
  const languages = new Intl.DisplayNames([language], { type: 'language' })
  return (
    <section
      className={classes.channels}
      aria-label={translate('compose.previews')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll this element
      tabIndex={0}
    >
      <h2>{translate('compose.previews')}</h2>
      {isEmpty && <p className={classes.hint}>{translate('compose.nothing')}</p>}
      {audience.error !== null && <LoadFailure error={audience.error} onRetry={() => void audience.refetch()} />}
      {previews.map(({ channel, preview, error }) => {
        const who = audience.data?.find((one) => one.channel === channel)
        const locale = preview?.templateLocale ?? null
        const hasNoText = preview !== undefined && preview.subject.trim() === '' && preview.content.trim() === ''
        return (
          <article key={channel} className={classes.channel} aria-label={nameOf(channel)}>
            <h3>{nameOf(channel)}</h3>
            {who !== undefined && (
              <div>
                <AudienceText of={who} />
              </div>
            )}
            {error != null && <p className={classes.warn}>{error.message}</p>}
            {!isEmpty && preview === undefined && error == null && <Waiting lines={1} height={96} />}
            {!isEmpty && preview !== undefined && !hasNoText && (
              <ChannelPreview {...{ channel, preview }} name={nameOf(channel)} />
            )}
            {!isEmpty && hasNoText && <p className={classes.warn}>{translate('compose.no-template')}</p>}
            {!isEmpty && locale !== null && (
              <p className={classes.size}>{translate('compose.language', { language: languages.of(locale) })}</p>
            )}
          </article>
        )
      })}
    </section>
  )
}
