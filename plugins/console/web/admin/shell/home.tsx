import { useEffect } from 'react'
import { Link } from 'wouter'
import { useSpeech } from '../../app/app.tsx'
import { siteName } from '../../app/site-name.ts'
import { AttentionList } from './attention.tsx'
import classes from './home.module.css'
import { OverviewCharts } from './overview-charts.tsx'
import { useSite } from './site-context.ts'

/** The first page: everything that this person may see, by its groups. */
export function Home() {
  const { say } = useSpeech()
  const { siteTitle, groups } = useSite()
  useEffect(() => {
    document.title = siteName
  }, [])
  return (
    <>
      <h1 className={classes.title}>{siteTitle}</h1>
      <p className={classes.lead}>{groups.length === 0 ? say('admin.home.nothing') : say('admin.home.lead')}</p>
      <AttentionList />
      <OverviewCharts />
      <div className={classes.groups}>
        {groups.map(({ id, title, pages }) => (
          <section key={id} className={classes.group}>
            <h2>{title}</h2>
            <ul>
              {pages.map((page) => (
                <li key={page.id}>
                  <Link href={`/${page.id}`}>{page.title}</Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  )
}
